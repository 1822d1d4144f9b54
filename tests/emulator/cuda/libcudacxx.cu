// libcu++: atomics, barriers, pipelines, asynchronous copies and the standard library's types.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/latch>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/utility>
#include <cuda/std/variant>
#include <cooperative_groups.h>

template <cuda::thread_scope Scope>
__device__ void count(int* words, float* sums, unsigned long long* wide) {
  cuda::atomic_ref<int, Scope> add(words[0]), most(words[1]), ors(words[2]), swaps(words[3]);
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  add.fetch_add(i, cuda::memory_order_relaxed);
  most.fetch_max(i, cuda::memory_order_acq_rel);
  ors.fetch_or(1 << (i % 31), cuda::memory_order_release);
  int seen = swaps.load(cuda::memory_order_relaxed);
  while (!swaps.compare_exchange_weak(seen, seen * 3 + 1)) {
  }
  cuda::atomic_ref<float, Scope>(sums[0]).fetch_add(0.5f);
  cuda::atomic_ref<unsigned long long, Scope>(wide[0]).fetch_add(1ull << 33);
  cuda::atomic_ref<unsigned long long, Scope>(wide[1]).fetch_xor(static_cast<unsigned long long>(i) << 20);
}

extern "C" __global__ void atomics(int* words, float* sums, unsigned long long* wide) {
  count<cuda::thread_scope_system>(words, sums, wide);
  count<cuda::thread_scope_device>(words, sums, wide);
}

extern "C" __global__ void block_atomics(int* words, float* sums, unsigned long long* wide) {
  count<cuda::thread_scope_block>(words, sums, wide);
}

// Block 0 hands a message to the others.
__device__ int message;
__device__ cuda::atomic<int, cuda::thread_scope_device> flag;
extern "C" __global__ void message_passing(int* out) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      message = 42;
      flag.store(1, cuda::memory_order_release);
      flag.notify_all();
    }
    return;
  }
  if (threadIdx.x == 0) {
    flag.wait(0, cuda::memory_order_acquire);
    out[blockIdx.x] = message;
  }
}

extern "C" __global__ void small_atomics(unsigned char* bytes, unsigned short* shorts) {
  cuda::atomic_ref<unsigned char, cuda::thread_scope_device>(bytes[threadIdx.x % 4]).fetch_add(1);
  cuda::atomic_ref<unsigned short, cuda::thread_scope_device>(shorts[threadIdx.x % 2]).fetch_max(
      static_cast<unsigned short>(threadIdx.x));
}

// Phases of a barrier with a completion function, through a token.
struct Total {
  int* sum;
  int* totals;
  int* phase;
  __device__ void operator()() noexcept {
    totals[*phase] = *sum;
    *sum = 0;
    ++*phase;
  }
};

extern "C" __global__ void barriers(const int* in, int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Barrier barrier;
  __shared__ int tile[128];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  int value = in[threadIdx.x];
  for (int round = 0; round < 4; ++round) {
    tile[threadIdx.x] = value;
    Barrier::arrival_token token = barrier.arrive();
    barrier.wait(static_cast<Barrier::arrival_token&&>(token));
    value = tile[(threadIdx.x + 1) % 128] + round;
    barrier.arrive_and_wait();
  }
  out[threadIdx.x] = value;
}

extern "C" __global__ void barrier_completion(const int* in, int* totals) {
  using Barrier = cuda::barrier<cuda::thread_scope_block, Total>;
  __shared__ int sum, phase;
  __shared__ alignas(Barrier) char storage[sizeof(Barrier)];
  Barrier& barrier = *reinterpret_cast<Barrier*>(storage);
  if (threadIdx.x == 0) {
    sum = phase = 0;
    new (&barrier) Barrier(blockDim.x, Total{&sum, totals, &phase});
  }
  __syncthreads();
  for (int round = 0; round < 3; ++round) {
    atomicAdd(&sum, in[threadIdx.x] + round);
    barrier.arrive_and_wait();
  }
}

extern "C" __global__ void copied(const int* in, int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Barrier barrier;
  __shared__ alignas(16) int tile[512];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(cooperative_groups::this_thread_block(), tile, in, cuda::aligned_size_t<16>(512 * sizeof(int)),
                     barrier);
  barrier.arrive_and_wait();
  for (int i = static_cast<int>(threadIdx.x); i < 512; i += 128) out[i] = tile[511 - i];
  barrier.arrive_and_wait();
  cuda::memcpy_async(tile + threadIdx.x, in + 512 + threadIdx.x, sizeof(int), barrier);
  barrier.arrive_and_wait();
  out[512 + threadIdx.x] = tile[127 - threadIdx.x];
}

// Two stages in flight; all threads produce and consume.
extern "C" __global__ void pipelined(const int* in, int* out, int tiles) {
  constexpr int kStages = 2;
  __shared__ alignas(16) int buffer[kStages][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  const auto block = cooperative_groups::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int fetched = 0, sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    for (; fetched < tiles && fetched < tile + kStages; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, buffer[fetched % kStages], in + fetched * 128, sizeof(int) * 128, pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += buffer[tile % kStages][127 - threadIdx.x] * (tile + 1);
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}

// The first warp produces, the others consume.
extern "C" __global__ void specialised(const int* in, int* out, int tiles) {
  constexpr int kStages = 2;
  __shared__ alignas(16) int buffer[kStages][96];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  const auto block = cooperative_groups::this_thread_block();
  const bool produces = threadIdx.x < 32;
  auto pipeline = cuda::make_pipeline(
      block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  int sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    int* stage = buffer[tile % kStages];
    if (produces) {
      pipeline.producer_acquire();
      for (unsigned i = threadIdx.x; i < 96; i += 32)
        cuda::memcpy_async(stage + i, in + tile * 96 + i, sizeof(int), pipeline);
      pipeline.producer_commit();
    } else {
      pipeline.consumer_wait();
      sum += stage[127 - threadIdx.x] * (tile + 1);
      pipeline.consumer_release();
    }
  }
  if (!produces) out[threadIdx.x - 32] = sum;
}

// A thread's own pipeline: cp.async groups.
extern "C" __global__ void thread_pipeline(const int* in, int* out) {
  __shared__ int tile[2][64];
  auto pipeline = cuda::make_pipeline();
  for (int stage = 0; stage < 2; ++stage) {
    pipeline.producer_acquire();
    cuda::memcpy_async(&tile[stage][threadIdx.x], &in[stage * 64 + threadIdx.x], sizeof(int), pipeline);
    pipeline.producer_commit();
  }
  cuda::pipeline_consumer_wait_prior<1>(pipeline);
  int sum = tile[0][threadIdx.x];
  cuda::pipeline_consumer_wait_prior<0>(pipeline);
  sum += 10 * tile[1][threadIdx.x];
  pipeline.consumer_release();
  out[threadIdx.x] = sum;
}

extern "C" __global__ void semaphores(int* counter, int* most) {
  using Semaphore = cuda::binary_semaphore<cuda::thread_scope_block>;
  using Latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ alignas(Semaphore) char semaphore_storage[sizeof(Semaphore)];
  __shared__ alignas(Latch) char latch_storage[sizeof(Latch)];
  Semaphore& semaphore = *reinterpret_cast<Semaphore*>(semaphore_storage);
  Latch& ready = *reinterpret_cast<Latch*>(latch_storage);
  if (threadIdx.x == 0) {
    new (&semaphore) Semaphore(1);
    new (&ready) Latch(blockDim.x);
  }
  __syncthreads();
  ready.arrive_and_wait();
  if (threadIdx.x % 16 == 0) {
    semaphore.acquire();
    const int before = *counter;
    *counter = before + 1;
    *most = before > *most ? before : *most;
    semaphore.release();
  }
}

extern "C" __global__ void standard_types(const int* in, float* out) {
  const int i = static_cast<int>(threadIdx.x);
  cuda::std::array<int, 4> values{};
  for (int k = 0; k < 4; ++k) values[(k + i) % 4] = in[(i + k) % 64];
  const cuda::std::span<const int> tail(values.data() + 1, 3);
  int sum = 0;
  for (const int value : tail) sum += value;
  cuda::std::optional<int> maybe;
  if (in[i] % 2 == 0) maybe = in[i];
  const auto [a, b] = cuda::std::make_pair(in[i], sum);
  cuda::std::tuple<int, float> both(a, 0.5f);
  const cuda::std::complex<float> z(static_cast<float>(a), 1.0f), w = z * z / cuda::std::complex<float>(2.0f, 1.0f);
  cuda::std::variant<int, float> either;
  if (i % 2 == 0) either = 7; else either = 0.25f;
  out[4 * i] = static_cast<float>(maybe.value_or(-1) + b);
  out[4 * i + 1] = w.real() + cuda::std::get<1>(both);
  out[4 * i + 2] = cuda::std::visit([](auto x) { return static_cast<float>(x); }, either);
  out[4 * i + 3] = static_cast<float>(cuda::std::popcount(static_cast<unsigned>(a)) +
                                      100 * cuda::std::countl_zero(static_cast<unsigned>(b)));
}
