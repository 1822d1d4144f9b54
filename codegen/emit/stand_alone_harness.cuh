// ---- harness: inputs, comparison, timing ---------------------------------------------------------------------------
namespace ak_test {

inline void check(cudaError_t status, const char* what, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(status));
  std::exit(2);
}
#define AK_CHECK(...) ::ak_test::check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

using ak_random::Draw;
using ak_random::Key;

template <class T>
__global__ void fill_floating(T* data, Key key, Draw draw) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < draw.count; i += gridDim.x * 256LL) {
    data[i] = static_cast<T>(ak_random::real_element(key, static_cast<unsigned long long>(i), draw));
  }
}

template <class T>
__global__ void fill_integer(T* data, Key key, Draw draw) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < draw.count; i += gridDim.x * 256LL) {
    data[i] = static_cast<T>(ak_random::integer_element(key, static_cast<unsigned long long>(i), draw));
  }
}

__global__ void fill_packed(unsigned char* data, Key key, Draw draw) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < draw.count; i += gridDim.x * 256LL) {
    data[i] = ak_random::packed_element(key, static_cast<unsigned long long>(i), draw);
  }
}

struct Comparison {
  double error_square, step_square;         // sums of squares of errors, and of the largest errors of one rounding
  unsigned long long worst_bits, step_bits;  // the largest of both, as the bits of a double that is not negative
  unsigned long long nonfinite_mismatches;
  unsigned long long over, far;  // elements over their bound, and over that of strays; integers: unequal, more than 1 off
  unsigned long long unequal;    // elements that are not the exact result, rounded once
};

// How an output is judged: docs/problem.md of AlphaKernel, "Tolerance".
struct Rule {
  double factor, floor_ulps;
  double roundoff;      // of the type, or of a poorer one that is permitted inside
  double poorer_steps;  // how much larger that of the next poorer mantissa is
  bool per_row;
  double equal_share;             // at least this share is the exact result, rounded once; negative: not asked for
  unsigned long long exact_sets;  // bit i: all is, under distribution i
  bool set;                       // the order of a row's elements is free
  int gather;                     // input that the output's indices select from; -1 for none
};

// Of many elements so few may be over their bound, all of them within a few times it.
constexpr unsigned long long kElementsPerStray = 100000, kFewElements = 100;
constexpr double kStrayReach = 4;

struct Bounds {
  double rms, element, far;
  unsigned long long strays, unequal;
};

__device__ inline double as_double(double x) { return x; }
template <class T> __device__ double as_double(T x) { return static_cast<double>(static_cast<float>(x)); }
__device__ inline double as_double(long long x) { return static_cast<double>(x); }
__device__ inline double as_double(int x) { return static_cast<double>(x); }
__device__ inline double as_double(unsigned int x) { return static_cast<double>(x); }

template <class T> struct IsInteger { static constexpr bool value = false; };
template <> struct IsInteger<long long> { static constexpr bool value = true; };

// scales[r] = root mean square of the finite elements of row r; a block each.
template <class R>
__global__ void row_scales(const R* expected, long long row, double* scales) {
  double sum = 0, elements = 0;
  for (long long i = threadIdx.x; i < row; i += 256) {
    const double value = as_double(expected[blockIdx.x * row + i]);
    if (isfinite(value)) sum += value * value, elements += 1;
  }
  __shared__ double sums[256], counts[256];
  sums[threadIdx.x] = sum, counts[threadIdx.x] = elements;
  __syncthreads();
  for (unsigned int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half], counts[threadIdx.x] += counts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) scales[blockIdx.x] = counts[0] > 0 ? sqrt(sums[0] / counts[0]) : 0;
}

// Adds up over the grid what a thread has seen.
__device__ inline void add_to(Comparison* result, const Comparison& own) {
  atomicAdd(&result->error_square, own.error_square);
  atomicAdd(&result->step_square, own.step_square);
  atomicMax(&result->worst_bits, own.worst_bits);
  atomicMax(&result->step_bits, own.step_bits);
  if (own.nonfinite_mismatches > 0) atomicAdd(&result->nonfinite_mismatches, own.nonfinite_mismatches);
  if (own.over > 0) atomicAdd(&result->over, own.over);
  if (own.far > 0) atomicAdd(&result->far, own.far);
  if (own.unequal > 0) atomicAdd(&result->unequal, own.unequal);
}

__device__ inline unsigned long long bits_of(double value) {
  return static_cast<unsigned long long>(__double_as_longlong(value));
}

// Errors of `got` against the exact result, relative to |exact| + rms(exact). Where the honest low-precision version
// is not finite (an overflow of the output type), `got` must be the same infinity or NaN.
template <class T, class R>
__global__ void compare(const T* got, const T* twin, const R* expected, long long count, const double* scales,
                        long long row, double roundoff, Bounds bounds, Comparison* result) {
  Comparison own{};
  double worst = 0, largest_step = 0;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += gridDim.x * 256LL) {
    const double g = as_double(got[i]), t = as_double(twin[i]), e = as_double(expected[i]);
    if (!isfinite(t) || !isfinite(g)) {
      if (!(g == t || (isnan(g) && isnan(t)))) ++own.nonfinite_mismatches;
      continue;
    }
    const double scale = fabs(e) + scales[i / row];
    const double error = g == e ? 0 : fabs(g - e) / scale;
    worst = fmax(worst, error);
    own.error_square += error * error;
    if (IsInteger<R>::value) {
      own.over += g != e, own.far += fabs(g - e) > 1, own.unequal += g != e;
      continue;
    }
    own.over += !(error <= bounds.element), own.far += !(error <= bounds.far);
    own.unequal += g != as_double(static_cast<T>(e));
    // Half the distance between values next to the exact one.
    const double half = roundoff * __longlong_as_double(__double_as_longlong(e) & 0x7ff0000000000000LL);
    const double step = half == 0 ? 0 : half / scale;
    largest_step = fmax(largest_step, step);
    own.step_square += step * step;
  }
  own.worst_bits = bits_of(worst), own.step_bits = bits_of(largest_step);
  add_to(result, own);
}

// What results are judged by where it is not their elements: what indices select, NaN for an index that is out of range
// or that its row has already; and rows in ascending order.
template <class T>
__global__ void widen(const T* values, long long count, double* out) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += gridDim.x * 256LL) out[i] = as_double(values[i]);
}
template <class S>
__global__ void gather(const double* indices, long long count, long long row, const S* source, long long source_row,
                       double* out) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += gridDim.x * 256LL) {
    const double index = indices[i];
    bool valid = index >= 0 && index < static_cast<double>(source_row);
    for (long long j = i / row * row; valid && j < i; ++j) valid = indices[j] != index;
    out[i] = valid ? as_double(source[i / row * source_row + static_cast<long long>(index)]) : nan("");
  }
}
__global__ void sort_rows(const double* values, long long count, long long row, double* out) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += gridDim.x * 256LL) {
    const long long start = i / row * row;
    const double x = values[i];
    long long rank = 0;
    for (long long j = start; j < start + row; ++j) {
      const double y = values[j];
      rank += isnan(x) ? !isnan(y) || j < i : y < x || (y == x && j < i);
    }
    out[start + rank] = x;
  }
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

using Fill = void (*)(void* data, Key key, const Draw& draw);
using Scale = void (*)(const void* expected, long long rows, long long row, double* scales);
using Compare = void (*)(const void* got, const void* twin, const void* expected, long long count, const double* scales,
                         long long row, double roundoff, const Bounds& bounds, Comparison* result);
using Widen = void (*)(const void* values, long long count, double* out);
using Gather = void (*)(const double* indices, long long count, long long row, const void* source, long long source_row,
                        double* out);

constexpr unsigned int kGrid = 2048;

template <class T>
void fill_floating_with(void* data, Key key, const Draw& draw) {
  fill_floating<<<kGrid, 256>>>(static_cast<T*>(data), key, draw);
}
template <class T>
void fill_integer_with(void* data, Key key, const Draw& draw) {
  fill_integer<<<kGrid, 256>>>(static_cast<T*>(data), key, draw);
}
template <class T>
void fill_packed_with(void* data, Key key, const Draw& draw) {
  fill_packed<<<kGrid, 256>>>(static_cast<T*>(data), key, draw);
}
template <class R>
void scale_with(const void* expected, long long rows, long long row, double* scales) {
  row_scales<<<static_cast<unsigned int>(rows), 256>>>(static_cast<const R*>(expected), row, scales);
}
template <class T, class R>
void compare_with(const void* got, const void* twin, const void* expected, long long count, const double* scales,
                  long long row, double roundoff, const Bounds& bounds, Comparison* result) {
  compare<<<kGrid, 256>>>(static_cast<const T*>(got), static_cast<const T*>(twin), static_cast<const R*>(expected), count,
                          scales, row, roundoff, bounds, result);
}
template <class T>
void widen_with(const void* values, long long count, double* out) {
  widen<<<kGrid, 256>>>(static_cast<const T*>(values), count, out);
}
template <class S>
void gather_with(const double* indices, long long count, long long row, const void* source, long long source_row,
                 double* out) {
  gather<<<kGrid, 256>>>(indices, count, row, static_cast<const S*>(source), source_row, out);
}

struct Tensor {
  const char* name;
  long long element_bytes;
  long long exact_bytes;   // of one element as the exact reference writes it; outputs only
  bool floating;
  bool zeroed;             // holds zeros before a call; outputs only
  int alias;               // index of the input whose memory this output shares; -1 for none
  Fill fill;               // inputs only; null for a scalar by value
  Gather gather;           // inputs only: by indices into it
  Scale scale;             // outputs only, as what follows; of the exact result
  Compare compare;
  Widen widen, widen_exact;
  Rule rule;
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
  std::vector<long long> rows;    // elements of a row of every tensor: its last axis
  double bytes, flops;            // of one call
  bool timed;
  bool deep;                      // minutes of work or most of the memory: only when named
  std::vector<int> distributions;       // of the problem, that it is checked with
  std::vector<std::vector<int>> draws;  // of each of these and every input: which of all draws
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
      if (i >= inputs) zeroed_.push_back(tensors[i].zeroed);
      if (i < inputs) {
        pointers_.push_back({input_memory[i].get()});
      } else if (tensors[i].alias >= 0 && role == Role::candidate) {
        pointers_.push_back({input_memory[static_cast<size_t>(tensors[i].alias)].get()});
      } else {
        own_.push_back(i - inputs);
        outputs_.emplace_back(counts[i] * (role == Role::exact ? tensors[i].exact_bytes : tensors[i].element_bytes));
        pointers_.push_back({outputs_.back().get()});
      }
    }
    for (const Workspace& space : sequence.workspace) {
      workspace_.emplace_back(space.bytes);
      workspace_pointers_.push_back({workspace_.back().get()});
    }
  }

  // NaN patterns (all bits set) in everything that the kernels must write before they read; zeros where they may
  // rely on them.
  void poison() const {
    for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i].set_bytes(zeroed_[own_[i]] ? 0 : 0xff);
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
  void set_scalar(size_t index, double value) {
    pointers_[index].real = value;
    pointers_[index].whole = static_cast<long long>(value);
  }

 private:
  const Sequence& sequence_;
  std::vector<Memory> outputs_, workspace_;
  std::vector<bool> zeroed_;  // of every output
  std::vector<size_t> own_;   // which output each of outputs_ is
  std::vector<Pointer> pointers_, workspace_pointers_;
};

struct Options {
  std::string workload;  // empty: all
  unsigned long long seed = 1;
  bool time = true;
};

class Tester {
 public:
  Tester(std::vector<Tensor> tensors, size_t inputs, std::vector<Draw> draws, Options options)
      : tensors_(std::move(tensors)), inputs_(inputs), draws_(std::move(draws)), options_(std::move(options)),
        result_(sizeof(Comparison)) {
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
    Run candidate(workload.candidate, tensors_, inputs_, workload.counts, inputs, Role::candidate);
    double worst_error = 0, its_tolerance = 0, worst_ratio = -1;
    unsigned long long mismatches = 0;
    bool passed = true;
    {
      Run exact(workload.exact, tensors_, inputs_, workload.counts, inputs, Role::exact);
      Run twin(workload.twin, tensors_, inputs_, workload.counts, inputs, Role::twin);
      // Shapes of more than 256 MB take one distribution: the others would add minutes, not knowledge.
      const size_t sets = workload.bytes > 256e6 ? 1 : workload.draws.size();
      for (size_t set = 0; set < sets; ++set) {
        draw_and_run(workload, inputs, exact, set);
        draw_and_run(workload, inputs, twin, set);
        draw_and_run(workload, inputs, candidate, set);
        for (size_t i = inputs_; i < tensors_.size(); ++i) {
          const Comparison got = compare_output(workload, i, set, inputs, candidate, exact, twin);
          const double error = double_of(got.worst_bits);
          const double ratio = error == 0 ? 0 : error / bounds_.element;
          mismatches += got.nonfinite_mismatches;
          passed = passed && within(got, workload.counts[i]);
          if (!(ratio <= worst_ratio)) {
            worst_ratio = ratio;
            worst_error = error;
            its_tolerance = bounds_.element;
          }
        }
      }
    }
    std::printf("%-28s %-8s max_error=%.3e tolerance=%.3e", workload.name, passed ? "ok" : "MISMATCH", worst_error,
                its_tolerance);
    if (mismatches > 0) std::printf(" nonfinite_mismatches=%llu", mismatches);
    if (passed && workload.timed && options_.time) print_time(workload, candidate);
    std::printf("\n");
    std::fflush(stdout);
    return passed;
  }

  // Draws the inputs again, as an in-place kernel has overwritten them.
  void draw_and_run(const Workload& workload, const std::vector<Memory>& inputs, Run& run, size_t set) const {
    run.poison();
    for (size_t i = 0; i < inputs_; ++i) {
      Draw draw = draws_[static_cast<size_t>(workload.draws[set][i])];
      draw.count = workload.counts[i];
      const char* name = tensors_[i].name;
      const Key key = ak_random::tensor_key(options_.seed, name, std::strlen(name));
      if (tensors_[i].fill == nullptr)
        run.set_scalar(i, ak_random::chosen(key, 0, draw));
      else
        tensors_[i].fill(inputs[i].get(), key, draw);
    }
    AK_CHECK(cudaGetLastError());
    run.launch();
    AK_CHECK(cudaDeviceSynchronize());
  }

  // What an output is compared by: itself, or where its rule asks for it what its indices select, and its rows in
  // ascending order.
  struct View {
    const void* values;
    std::vector<Memory> parts;
  };
  View view(const Workload& workload, size_t tensor, const std::vector<Memory>& inputs, const void* values,
            bool exact) const {
    const Tensor& own = tensors_[tensor];
    const long long count = workload.counts[tensor], row = workload.rows[tensor];
    View view{values, {}};
    if (!own.rule.set && own.rule.gather < 0) return view;
    const auto next = [&] {
      view.parts.emplace_back(count * static_cast<long long>(sizeof(double)));
      return static_cast<double*>(view.parts.back().get());
    };
    double* current = next();
    (exact ? own.widen_exact : own.widen)(values, count, current);
    if (own.rule.gather >= 0) {
      const auto source = static_cast<size_t>(own.rule.gather);
      double* selected = next();
      tensors_[source].gather(current, count, row, inputs[source].get(), workload.rows[source], selected);
      current = selected;
    }
    if (own.rule.set) {
      double* ordered = next();
      sort_rows<<<kGrid, 256>>>(current, count, row, ordered);
      current = ordered;
    }
    view.values = current;
    return view;
  }

  // Compares one output; sets bounds_, which follow from the error of the plain low-precision reference.
  Comparison compare_output(const Workload& workload, size_t tensor, size_t set, const std::vector<Memory>& inputs,
                            const Run& candidate, const Run& exact, const Run& twin) {
    const Rule& rule = tensors_[tensor].rule;
    const long long count = workload.counts[tensor];
    const long long row = rule.per_row ? workload.rows[tensor] : count;
    const Memory scales(count / row * static_cast<long long>(sizeof(double)));
    tensors_[tensor].scale(exact.tensor(tensor), count / row, row, static_cast<double*>(scales.get()));
    const View expected = view(workload, tensor, inputs, exact.tensor(tensor), true);
    const View honest = view(workload, tensor, inputs, twin.tensor(tensor), false);
    const View got = view(workload, tensor, inputs, candidate.tensor(tensor), false);
    const bool viewed = rule.set || rule.gather >= 0;
    const Compare compare = viewed ? &compare_with<double, double> : tensors_[tensor].compare;
    const auto compared = [&](const View& values) {
      result_.set_bytes(0);
      compare(values.values, honest.values, expected.values, count, static_cast<const double*>(scales.get()), row,
              rule.roundoff, bounds_, static_cast<Comparison*>(result_.get()));
      AK_CHECK(cudaGetLastError());
      Comparison comparison{};
      AK_CHECK(cudaMemcpy(&comparison, result_.get(), sizeof comparison, cudaMemcpyDeviceToHost));
      return comparison;
    };
    bounds_ = {};
    bounds_ = derive_bounds(tensors_[tensor], workload.distributions[set], compared(honest), count);
    return compared(got);
  }

  // Errors may be `factor` times those of the honest version, which count as at least floor_ulps roundoffs, but cost no
  // more than half of what rounding to the next poorer mantissa does.
  static Bounds derive_bounds(const Tensor& tensor, int distribution, const Comparison& own, long long count) {
    const Rule& rule = tensor.rule;
    const auto all = static_cast<unsigned long long>(count);
    const bool exact = distribution < 64 && (rule.exact_sets >> distribution & 1) != 0;
    const double may_differ = (1 - rule.equal_share) * static_cast<double>(count) + 1e-9;
    const unsigned long long some =
        exact ? 0 : rule.equal_share < 0 ? all : static_cast<unsigned long long>(may_differ);
    if (rule.gather >= 0 || (rule.set && !tensor.floating)) return {0, 0, 0, 0, all};
    if (!tensor.floating) {
      const unsigned long long unequal = rule.equal_share < 0 ? 0 : some;
      return {HUGE_VAL, 0, 1, unequal, unequal};
    }
    const double elements = static_cast<double>(count);
    const double poorer = rule.poorer_steps * (1 + 4 / std::sqrt(elements));  // wider where few elements say little
    const auto bound = [&](double honest, double rounding) {
      return std::min(rule.factor * std::max(honest, rule.floor_ulps * rule.roundoff),
                      poorer / 2 * std::max(honest, rounding));
    };
    Bounds bounds{};
    bounds.rms = bound(std::sqrt(own.error_square / elements), std::sqrt(own.step_square / elements / 3));
    bounds.element = bound(double_of(own.worst_bits), double_of(own.step_bits));
    bounds.far = kStrayReach * bounds.element;
    bounds.strays = all < kFewElements ? 0 : 1 + all / kElementsPerStray;
    bounds.unequal = some;
    return bounds;
  }

  bool within(const Comparison& got, long long count) const {
    return got.nonfinite_mismatches == 0 && got.over <= bounds_.strays && got.far == 0 &&
           std::sqrt(got.error_square / static_cast<double>(count)) <= bounds_.rms && got.unequal <= bounds_.unequal;
  }

  static double double_of(unsigned long long bits) {
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
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
  std::vector<Draw> draws_;
  Options options_;
  Memory result_;
  Bounds bounds_{};  // of the output compared last
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
