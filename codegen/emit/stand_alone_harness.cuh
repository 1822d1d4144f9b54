// ---- harness: inputs, comparison, timing ---------------------------------------------------------------------------
namespace ak_test {

inline void check(cudaError_t status, const char* what, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(status));
  std::exit(2);
}
#define AK_CHECK(...) ::ak_test::check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

struct Distribution {
  const char* name;
  int kind;  // 0 normal, 1 uniform, 2 small integers, 3 zero or one, 4 outliers, 5 ramp, 6 peaked
  float scale, shift;
};

// Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC11).
__device__ inline uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const unsigned int high0 = __umulhi(0xD2511F53u, counter.x), low0 = 0xD2511F53u * counter.x;
    const unsigned int high1 = __umulhi(0xCD9E8D57u, counter.z), low1 = 0xCD9E8D57u * counter.z;
    counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return counter;
}

__device__ inline float draw(long long i, uint2 key, Distribution distribution) {
  const uint4 r = philox(make_uint4(static_cast<unsigned int>(i), static_cast<unsigned int>(i >> 32), 0u, 0u), key);
  const float unit = 1.0f / 4294967296.0f;
  // A sum of four uniform numbers, with mean 0 and variance 1.
  const float normal = (static_cast<float>(r.x) * unit + static_cast<float>(r.y) * unit +
                        static_cast<float>(r.z) * unit + static_cast<float>(r.w) * unit - 2.0f) * 1.7320508f;
  float value = normal;
  switch (distribution.kind) {
    case 1: value = static_cast<float>(r.x) * unit * 2.0f - 1.0f; break;
    case 2: value = static_cast<float>(static_cast<int>(r.x % 7u) - 3); break;
    case 3: value = static_cast<float>(r.x & 1u); break;
    case 4: value = (i * 2654435761LL & 1023) == 7 ? normal * 100.0f : normal; break;
    case 5: value = static_cast<float>(i & 1023) / 1024.0f - 0.5f; break;
    case 6: value = (r.w & 255u) == 7u ? normal + 20.0f : normal; break;
    default: break;
  }
  return value * distribution.scale + distribution.shift;
}

template <class T>
__global__ void fill_floating(T* data, long long count, uint2 key, Distribution distribution) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += gridDim.x * 256LL) {
    data[i] = static_cast<T>(draw(i, key, distribution));
  }
}

template <class T>
__global__ void fill_integer(T* data, long long count, uint2 key, Distribution) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += gridDim.x * 256LL) {
    const uint4 r = philox(make_uint4(static_cast<unsigned int>(i), static_cast<unsigned int>(i >> 32), 0u, 0u), key);
    data[i] = static_cast<T>(static_cast<int>(r.x % 17u) - 8);
  }
}

struct Comparison {
  double square_sum;              // of the finite expected values
  unsigned long long worst_bits;  // largest error, as the bits of a double that is not negative
  unsigned long long nonfinite_mismatches;
};

__device__ inline double as_double(double x) { return x; }
template <class T> __device__ double as_double(T x) { return static_cast<double>(static_cast<float>(x)); }
__device__ inline double as_double(long long x) { return static_cast<double>(x); }
__device__ inline double as_double(int x) { return static_cast<double>(x); }

template <class R>
__global__ void sum_squares(const R* expected, long long count, Comparison* result) {
  double sum = 0;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += gridDim.x * 256LL) {
    const double value = as_double(expected[i]);
    if (isfinite(value)) sum += value * value;
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(&result->square_sum, sum);
}

// Error of `got` against the exact result, relative to |exact| + rms(exact). Where the honest low-precision version
// is not finite (an overflow of the output type), `got` must be the same infinity or NaN.
template <class T, class R>
__global__ void compare(const T* got, const T* twin, const R* expected, long long count, Comparison* result) {
  const double rms = sqrt(result->square_sum / static_cast<double>(count));
  double worst = 0;
  unsigned long long mismatches = 0;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += gridDim.x * 256LL) {
    const double g = as_double(got[i]), t = as_double(twin[i]), e = as_double(expected[i]);
    if (!isfinite(t) || !isfinite(g)) {
      if (!(g == t || (isnan(g) && isnan(t)))) ++mismatches;
    } else if (g != e) {
      worst = fmax(worst, fabs(g - e) / (fabs(e) + rms));
    }
  }
  if (worst > 0) atomicMax(&result->worst_bits, static_cast<unsigned long long>(__double_as_longlong(worst)));
  if (mismatches > 0) atomicAdd(&result->nonfinite_mismatches, mismatches);
}

// Reads more than the L2 holds, so that the next kernel starts with cold, clean lines.
__global__ void read_all(const uint4* data, long long count, unsigned int* sink) {
  unsigned int mix = 0;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += gridDim.x * 256LL) {
    const uint4 value = data[i];
    mix ^= value.x ^ value.y ^ value.z ^ value.w;
  }
  if (mix == 0x12345678u) *sink = mix;
}

using Fill = void (*)(void* data, long long count, uint2 key, const Distribution& distribution);
using Compare = void (*)(const void* got, const void* twin, const void* expected, long long count, Comparison* result);

constexpr unsigned int kGrid = 2048;

template <class T>
void fill_floating_with(void* data, long long count, uint2 key, const Distribution& distribution) {
  fill_floating<<<kGrid, 256>>>(static_cast<T*>(data), count, key, distribution);
}
template <class T>
void fill_integer_with(void* data, long long count, uint2 key, const Distribution& distribution) {
  fill_integer<<<kGrid, 256>>>(static_cast<T*>(data), count, key, distribution);
}
template <class T, class R>
void compare_with(const void* got, const void* twin, const void* expected, long long count, Comparison* result) {
  sum_squares<<<kGrid, 256>>>(static_cast<const R*>(expected), count, result);
  compare<<<kGrid, 256>>>(static_cast<const T*>(got), static_cast<const T*>(twin), static_cast<const R*>(expected), count,
                          result);
}

struct Tensor {
  const char* name;
  long long element_bytes;
  long long exact_bytes;   // of one element as the exact reference writes it; outputs only
  double unit_roundoff;    // of the type; 0 for integers
  int alias;               // index of the input whose memory this output shares; -1 for none
  Fill fill;               // inputs only
  Compare compare;         // outputs only
};

struct Workspace {
  long long bytes;
  bool zero;
};

// One launch sequence: pointers of the tensors and workspaces, in the order of the tables.
using Launch = void (*)(const std::vector<Pointer>& tensors, const std::vector<Pointer>& workspace);

struct Sequence {
  Launch launch;
  std::vector<Workspace> workspace;
};

struct Workload {
  const char* name;
  std::vector<long long> counts;  // elements of every tensor
  double bytes, flops;            // of one call
  bool timed;
  bool deep;                      // minutes of work or most of the memory: only when named
  Sequence candidate, exact, twin;
};

class Memory {
 public:
  explicit Memory(long long bytes) : bytes_(bytes) {
    const cudaError_t status = cudaMalloc(&address_, static_cast<size_t>(bytes > 0 ? bytes : 1));
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();  // the error stays set until it is read
      throw std::bad_alloc();
    }
    check(status, "cudaMalloc", __LINE__);
  }
  Memory(Memory&& other) noexcept : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { cudaFree(address_); }
  void* get() const { return address_; }
  void set_bytes(int value) const { AK_CHECK(cudaMemsetAsync(address_, value, static_cast<size_t>(bytes_))); }

 private:
  void* address_ = nullptr;
  long long bytes_;
};

enum class Role { candidate, exact, twin };

// The buffers one launch sequence works on. Inputs are shared, outputs and workspace are its own.
class Run {
 public:
  Run(const Sequence& sequence, const std::vector<Tensor>& tensors, size_t inputs, const std::vector<long long>& counts,
      const std::vector<Memory>& input_memory, Role role)
      : sequence_(sequence) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (i < inputs) {
        pointers_.push_back({input_memory[i].get()});
      } else if (tensors[i].alias >= 0 && role == Role::candidate) {
        pointers_.push_back({input_memory[static_cast<size_t>(tensors[i].alias)].get()});
      } else {
        outputs_.emplace_back(counts[i] * (role == Role::exact ? tensors[i].exact_bytes : tensors[i].element_bytes));
        pointers_.push_back({outputs_.back().get()});
      }
    }
    for (const Workspace& space : sequence.workspace) {
      workspace_.emplace_back(space.bytes);
      workspace_pointers_.push_back({workspace_.back().get()});
    }
  }

  // NaN patterns (all bits set) in everything that the kernels must write before they read.
  void poison() const {
    for (const Memory& output : outputs_) output.set_bytes(0xff);
    for (const Memory& space : workspace_) space.set_bytes(0xff);
  }

  // The sequence with the zeroing of workspace that belongs to it.
  void launch() const {
    for (size_t i = 0; i < workspace_.size(); ++i) {
      if (sequence_.workspace[i].zero) workspace_[i].set_bytes(0);
    }
    sequence_.launch(pointers_, workspace_pointers_);
    AK_CHECK(cudaGetLastError());
  }

  void* tensor(size_t index) const { return pointers_[index].address; }

 private:
  const Sequence& sequence_;
  std::vector<Memory> outputs_, workspace_;
  std::vector<Pointer> pointers_, workspace_pointers_;
};

struct Options {
  std::string workload;  // empty: all
  unsigned long long seed = 1;
  bool time = true;
};

class Tester {
 public:
  Tester(std::vector<Tensor> tensors, size_t inputs, std::vector<Distribution> distributions, double factor,
         double floor_ulps, Options options)
      : tensors_(std::move(tensors)), inputs_(inputs), distributions_(std::move(distributions)), factor_(factor),
        floor_ulps_(floor_ulps), options_(std::move(options)), result_(sizeof(Comparison)) {
    int device = 0, l2_bytes = 0;
    AK_CHECK(cudaGetDevice(&device));
    AK_CHECK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device));
    flush_bytes_ = 3LL * (l2_bytes > 0 ? l2_bytes : 64 << 20);
  }

  // Checks and times one workload and prints its line. False on a mismatch.
  bool run(const Workload& workload) {
    try {
      return run_with_memory(workload);
    } catch (const std::bad_alloc&) {
      std::printf("%-28s skipped: not enough device memory\n", workload.name);
      return true;
    }
  }

 private:
  bool run_with_memory(const Workload& workload) {
    std::vector<Memory> inputs;
    for (size_t i = 0; i < inputs_; ++i) inputs.emplace_back(workload.counts[i] * tensors_[i].element_bytes);
    const Run candidate(workload.candidate, tensors_, inputs_, workload.counts, inputs, Role::candidate);
    double worst_error = 0, its_tolerance = 0, worst_ratio = -1;
    unsigned long long mismatches = 0;
    {
      const Run exact(workload.exact, tensors_, inputs_, workload.counts, inputs, Role::exact);
      const Run twin(workload.twin, tensors_, inputs_, workload.counts, inputs, Role::twin);
      // Shapes of more than 256 MB take one distribution: the others would add minutes, not knowledge.
      const size_t sets = workload.bytes > 256e6 ? 1 : distributions_.size();
      for (size_t set = 0; set < sets; ++set) {
        draw_and_run(workload, inputs, exact, set);
        draw_and_run(workload, inputs, twin, set);
        draw_and_run(workload, inputs, candidate, set);
        for (size_t i = inputs_; i < tensors_.size(); ++i) {
          const void* honest = twin.tensor(i);
          const Comparison own = compare(i, workload.counts[i], honest, honest, exact.tensor(i));
          const Comparison got = compare(i, workload.counts[i], candidate.tensor(i), honest, exact.tensor(i));
          const double tolerance = factor_ * std::max(error_of(own), floor_ulps_ * tensors_[i].unit_roundoff);
          const double error = error_of(got);
          const double ratio = error == 0 ? 0 : error / tolerance;
          mismatches += got.nonfinite_mismatches;
          if (!(ratio <= worst_ratio)) {
            worst_ratio = ratio;
            worst_error = error;
            its_tolerance = tolerance;
          }
        }
      }
    }
    const bool passed = mismatches == 0 && worst_ratio <= 1;
    std::printf("%-28s %-8s max_error=%.3e tolerance=%.3e", workload.name, passed ? "ok" : "MISMATCH", worst_error,
                its_tolerance);
    if (mismatches > 0) std::printf(" nonfinite_mismatches=%llu", mismatches);
    if (passed && workload.timed && options_.time) print_time(workload, candidate);
    std::printf("\n");
    std::fflush(stdout);
    return passed;
  }

  // Draws the inputs again, as an in-place kernel has overwritten them.
  void draw_and_run(const Workload& workload, const std::vector<Memory>& inputs, const Run& run, size_t set) const {
    run.poison();
    for (size_t i = 0; i < inputs_; ++i) {
      const uint2 key = make_uint2(static_cast<unsigned int>(options_.seed + 1000 * set), static_cast<unsigned int>(i));
      tensors_[i].fill(inputs[i].get(), workload.counts[i], key, distributions_[set]);
    }
    AK_CHECK(cudaGetLastError());
    run.launch();
    AK_CHECK(cudaDeviceSynchronize());
  }

  Comparison compare(size_t tensor, long long count, const void* got, const void* twin, const void* expected) const {
    result_.set_bytes(0);
    tensors_[tensor].compare(got, twin, expected, count, static_cast<Comparison*>(result_.get()));
    AK_CHECK(cudaGetLastError());
    Comparison comparison{};
    AK_CHECK(cudaMemcpy(&comparison, result_.get(), sizeof comparison, cudaMemcpyDeviceToHost));
    return comparison;
  }

  static double error_of(const Comparison& comparison) {
    double error = 0;
    std::memcpy(&error, &comparison.worst_bits, sizeof error);
    return error;
  }

  // Median of 30 calls with cold L2. The event pair of a kernel of a few microseconds includes launch overhead.
  void print_time(const Workload& workload, const Run& candidate) const {
    const Memory flush(flush_bytes_);
    flush.set_bytes(0);
    cudaEvent_t start = nullptr, stop = nullptr;
    AK_CHECK(cudaEventCreate(&start));
    AK_CHECK(cudaEventCreate(&stop));
    std::vector<double> samples_us;
    for (int i = 0; i < 35; ++i) {
      candidate.poison();
      read_all<<<kGrid, 256>>>(static_cast<const uint4*>(flush.get()), flush_bytes_ / 16,
                               static_cast<unsigned int*>(result_.get()));
      AK_CHECK(cudaEventRecord(start));
      candidate.launch();
      AK_CHECK(cudaEventRecord(stop));
      AK_CHECK(cudaEventSynchronize(stop));
      float milliseconds = 0;
      AK_CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
      if (i >= 5) samples_us.push_back(1e3 * static_cast<double>(milliseconds));  // the first five warm up
    }
    AK_CHECK(cudaEventDestroy(start));
    AK_CHECK(cudaEventDestroy(stop));
    std::sort(samples_us.begin(), samples_us.end());
    const double median_us = (samples_us[14] + samples_us[15]) / 2;
    std::printf(" time=%.2f us %.1f GB/s", median_us, workload.bytes / median_us / 1e3);
    if (workload.flops > 0) std::printf(" %.3f TFLOP/s", workload.flops / median_us / 1e6);
  }

  std::vector<Tensor> tensors_;
  size_t inputs_;
  std::vector<Distribution> distributions_;
  double factor_, floor_ulps_;
  Options options_;
  Memory result_;
  long long flush_bytes_ = 0;
};

inline void print_usage(const char* program) {
  std::printf(
      "Checks and times the kernel next to this file.\n\n"
      "usage: %s [--workload NAME] [--seed N] [--no-time]\n\n"
      "  --workload NAME  only this workload (huge ones run only so)\n"
      "  --seed N         of the random inputs (default 1)\n"
      "  --no-time        check only\n"
      "  --help           this text\n\n"
      "One line per workload: error relative to |exact| + rms(exact) and its bound, which is derived from the error of\n"
      "the plain low-precision reference on the same inputs; then the median time with cold L2.\n"
      "Exit code: 0 all agree, 1 a mismatch, 2 wrong usage or a CUDA error.\n",
      program);
}

inline Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--help" || flag == "-h") {
      print_usage(argv[0]);
      std::exit(0);
    } else if (flag == "--no-time") {
      options.time = false;
    } else if (flag == "--workload" && i + 1 < argc) {
      options.workload = argv[++i];
    } else if (flag == "--seed" && i + 1 < argc) {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "unknown flag %s; --help lists the flags\n", flag.c_str());
      std::exit(2);
    }
  }
  return options;
}

inline int run_all(Tester& tester, const std::vector<Workload>& workloads, const Options& options) {
  bool passed = true;
  int ran = 0;
  for (const Workload& workload : workloads) {
    const bool wanted = options.workload.empty() ? !workload.deep : options.workload == workload.name;
    if (!wanted) continue;
    ++ran;
    passed = tester.run(workload) && passed;
  }
  if (ran == 0) {
    std::fprintf(stderr, "no workload is called %s\n", options.workload.c_str());
    return 2;
  }
  return passed ? 0 : 1;
}

}  // namespace ak_test
