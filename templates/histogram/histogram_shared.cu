/* alphakernel
{
  "tunables": {
    "COPIES": {"values": [1, 2, 4, 8, 16, 32], "default": 1},
    "BLOCKS_PER_SM": {"values": [1, 2, 4], "default": 1},
    "THREADS": {"values": [256, 512, 1024], "default": 1024},
    "PACKS": {"values": [1, 2, 4, 8], "default": 4},
    "MERGE": {"values": [0, 1], "default": 1}
  },
  "constraints": [
    "THREADS * BLOCKS_PER_SM <= 2048",
    "BINS * COPIES * BLOCKS_PER_SM * 4 <= SHARED_BYTES_PER_BLOCK - 4096 or COPIES == 1 and BLOCKS_PER_SM == 1"
  ],
  "let": {
    "HELD": "SHARED_BYTES_PER_BLOCK // 4 // COPIES",
    "RANGES": "ceil_div(BINS, HELD)",
    "RANGE": "ceil_div(BINS, RANGES)",
    "TILES": "ceil_div(N * sizeof_keys, THREADS * PACKS * 16)",
    "SHARES": "min(TILES, max(1, SM_COUNT * BLOCKS_PER_SM // RANGES))"
  },
  "launches": [
    {"kernel": "clear", "grid": ["ceil_div(BINS, 256)"], "block": [256], "args": ["counts", {"i32": "BINS"}]},
    {"kernel": "count", "grid": ["RANGES", "SHARES"], "block": ["THREADS"], "shared_bytes": "RANGE * COPIES * 4",
     "args": ["keys", "counts", {"i64": "N"}, {"i32": "RANGE"}, {"i32": "BINS"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Counts in shared memory, COPIES of each bin, which a block adds to those of all in the end. Lanes whose numbers are the
// same modulo COPIES share a copy: with 32 no two lanes of a warp ever meet, whatever the keys. With MERGE a thread adds
// when its key changes: keys that are all the same cost one addition a thread. A thread has PACKS packs of 16 bytes under
// way. Bins that shared memory does not hold are cut into ranges, whose blocks read the same keys at the same time.
#include <ak/threads.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int COPIES = 1;
constexpr int THREADS = 1024;
constexpr int PACKS = 4;
constexpr int MERGE = 1;
using scalar_t = int;
#endif

constexpr int VEC = 16 / static_cast<int>(sizeof(scalar_t));

__global__ void __launch_bounds__(256) clear(int* __restrict__ counts, int bins) {
  const int bin = static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x);
  if (bin < bins) counts[bin] = 0;
}

// What a thread counts: bins `first` to first + bins - 1, in its copy.
class Counter {
 public:
  __device__ __forceinline__ Counter(int* counts, int first, int bins)
      : copy_(counts + ak::lane_index() % COPIES),
        first_(static_cast<unsigned int>(first)),
        bins_(static_cast<unsigned int>(bins)) {}

  __device__ __forceinline__ void count(scalar_t key) {
    const unsigned int bin = static_cast<unsigned int>(key) - first_;  // modulo 2^32
    if (MERGE == 0) {
      add(bin, 1);
      return;
    }
    if (bin != last_) {
      add(last_, run_);
      last_ = bin;
      run_ = 0;
    }
    ++run_;
  }

  // Adds what is left.
  __device__ __forceinline__ void finish() {
    if (MERGE == 1) add(last_, run_);
  }

 private:
  __device__ __forceinline__ void add(unsigned int bin, int times) {
    if (bin < bins_) atomicAdd(copy_ + bin * COPIES, times);
  }

  int* copy_;
  unsigned int first_, bins_;
  unsigned int last_ = ~0u;  // no bin
  int run_ = 0;              // keys of it that are not added yet
};

// Counts this thread's keys of every tile of the block's share; those past the last whole pack are one thread's.
__device__ __forceinline__ void count_share(const scalar_t* keys, long long n, Counter& counter) {
  constexpr long long kTile = static_cast<long long>(THREADS) * PACKS * VEC;
  for (long long tile = blockIdx.y * kTile; tile < n; tile += gridDim.y * kTile) {
    const long long first = tile + static_cast<long long>(threadIdx.x) * VEC;
    ak::Pack<scalar_t, VEC> packs[PACKS];
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
      const long long at = first + static_cast<long long>(p) * THREADS * VEC;
      if (at + VEC <= n) packs[p] = ak::load<VEC, ak::Cache::plain>(keys + at);
    }
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
      const long long at = first + static_cast<long long>(p) * THREADS * VEC;
      if (at + VEC <= n) {
#pragma unroll
        for (int i = 0; i < VEC; ++i) counter.count(packs[p].value[i]);
      } else {
        for (long long i = at; i < n; ++i) counter.count(keys[i]);
      }
    }
  }
  counter.finish();
}

__global__ void __launch_bounds__(THREADS)
    count(const scalar_t* __restrict__ keys, int* __restrict__ counts, long long n, int range, int bins) {
  extern __shared__ int own[];  // [bin][copy]
  const int first = static_cast<int>(blockIdx.x) * range, held = min(range, bins - first);
  for (int i = static_cast<int>(threadIdx.x); i < held * COPIES; i += THREADS) own[i] = 0;
  __syncthreads();
  Counter counter(own, first, held);
  count_share(keys, n, counter);
  __syncthreads();
  for (int bin = static_cast<int>(threadIdx.x); bin < held; bin += THREADS) {
    int sum = 0;
#pragma unroll
    for (int c = 0; c < COPIES; ++c) sum += own[bin * COPIES + (c + bin) % COPIES];  // lanes in different banks
    if (sum != 0) atomicAdd(counts + first + bin, sum);
  }
}
