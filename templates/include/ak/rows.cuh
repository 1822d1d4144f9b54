// SPDX-License-Identifier: Apache-2.0
// Rows in the registers of a few lanes, of a block, or of a cluster of blocks: where elements lie, and reductions.
//
//   item 0                               item 1
//   ┌ block 0 ──────┐┌ block 1 ──────┐   ┌ block 0 ──────┐┌ ...
//   │ thread 0 │ 1 │ ...  vectors of WIDTH neighbouring elements, one a thread
//
// A reduction over a row costs one barrier: of the block, or of the cluster, whose warps write their parts into the
// shared memory of all its blocks. Two sets of parts take turns, so that no second barrier is needed.
#pragma once

#include <ak/clusters.cuh>
#include <ak/elements.cuh>
#include <ak/reduce.cuh>
#include <ak/vectors.cuh>

namespace ak {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
[[maybe_unused]] constexpr bool kClusters = false;  // kernels with clusters compile, and are not launched
#else
[[maybe_unused]] constexpr bool kClusters = true;
#endif
[[maybe_unused]] constexpr int kLargestCluster = 16;  // of sm_90; other devices have 8

/// A row over THREADS threads (blockDim.x, a power of two) of a block, or with CLUSTER of all blocks of a cluster; ROWS
/// rows (blockDim.y) share a block. Every thread has ITEMS vectors of WIDTH elements. One a kernel.
template <int THREADS, int ROWS, int WIDTH, int ITEMS, bool CLUSTER = false>
class Row {
 public:
  __device__ __forceinline__ Row() {
    if constexpr (kCluster) {
      rank_ = static_cast<int>(cluster_rank());
      blocks_ = static_cast<int>(cluster_size());
      cluster_arrive();
    }
  }

  /// Before the first reduction, after the first loads: the other blocks have begun.
  __device__ __forceinline__ void begin() const {
    if constexpr (kCluster) cluster_wait();
  }

  /// Blocks that have a part of the row; whether this is the row's first thread.
  __device__ __forceinline__ int blocks() const { return blocks_; }
  __device__ __forceinline__ bool is_first() const { return rank_ == 0 && threadIdx.x == 0; }

  /// First column of item `item`.
  __device__ __forceinline__ int column(int item) const {
    return ((item * blocks_ + rank_) * THREADS + static_cast<int>(threadIdx.x)) * WIDTH;
  }

  /// Reads this thread's vectors of a row of `columns` elements (a multiple of WIDTH; 0 reads none).
  template <Cache HINT, class T>
  __device__ __forceinline__ void read(Pack<T, WIDTH> (&packs)[ITEMS], const T* row, int columns) const {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      if (column(item) < columns) packs[item] = load<WIDTH, HINT>(row + column(item));
    }
  }

  /// The reduction of one value a thread over the row, the same in each of its threads. All threads of the block, or of
  /// the cluster, take part.
  template <class Operation>
  __device__ __forceinline__ float reduce(float value, Operation operation) {
    value = reduce_lanes<(THREADS < 32 ? THREADS : 32)>(value, operation);
    if constexpr (kWarps > 1 || kCluster) {
      static_assert(!kCluster || kWarps >= 16, "a cluster has a part for every second lane at least");
      __shared__ float parts[2][ROWS][kWarps * (kCluster ? kLargestCluster : 1)];
      float* row = parts[turn_][threadIdx.y];
      turn_ ^= 1;
      const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
      if constexpr (kCluster) {
        if (lane < blocks_) store_remote(remote_address(shared_address(row + rank_ * kWarps + warp), lane), value);
        cluster_sync();
        const int count = kWarps * blocks_;
        value = row[lane % count];
        for (int part = lane + 32; part < count; part += 32) value = operation(value, row[part]);
        value = count < 32 ? reduce_lanes<16>(value, operation) : reduce_lanes(value, operation);
      } else {
        if (lane == 0) row[warp] = value;
        __syncthreads();
        value = reduce_lanes<kWarps>(row[lane % kWarps], operation);
      }
    }
    return value;
  }

 private:
  static constexpr int kWarps = (THREADS + 31) / 32;
  static constexpr bool kCluster = CLUSTER && kClusters;

  int rank_ = 0, blocks_ = 1, turn_ = 0;
};

/// Subtracts their mean from the n elements of a row, of which this thread's are values[item] where column(item) <
/// columns; the others are ignored.
template <class Line, int ITEMS, int WIDTH>
__device__ __forceinline__ void subtract_mean(Line& line, float (&values)[ITEMS][WIDTH], int columns, int n) {
  float sum = 0.0f;
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) sum += line.column(item) < columns ? values[item][i] : 0.0f;
  }
  const float mean = line.reduce(sum, Sum()) / static_cast<float>(n);
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) values[item][i] -= mean;
  }
}

/// The sum of the squares of a row's elements, given as above.
template <class Line, int ITEMS, int WIDTH>
__device__ __forceinline__ float sum_of_squares(Line& line, const float (&values)[ITEMS][WIDTH], int columns) {
  float sum = 0.0f;
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) sum += line.column(item) < columns ? values[item][i] * values[item][i] : 0.0f;
  }
  return line.reduce(sum, Sum());
}

/// Reads a row of n elements, a multiple of WIDTH, vector by vector with the THREADS threads of the block, and calls
/// use(values, column): for rows that no registers hold. AT_ONCE loads are under way. Threads past the end are called
/// with zeros, up to a whole round.
template <int THREADS, int WIDTH, int AT_ONCE, Cache HINT = Cache::plain, class T, class Use>
__device__ __forceinline__ void for_each_vector(const T* row, int n, Use use) {
  constexpr int kStep = THREADS * WIDTH;
  for (int start = 0; start < n; start += AT_ONCE * kStep) {
    const int first = start + static_cast<int>(threadIdx.x) * WIDTH;
    Pack<T, WIDTH> packs[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) {
      if (first + k * kStep < n) packs[k] = load<WIDTH, HINT>(row + first + k * kStep);
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) {
      float values[WIDTH];
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) {
        values[i] = first + k * kStep < n ? static_cast<float>(packs[k].value[i]) : 0.0f;
      }
      use(values, first + k * kStep);
    }
  }
}

/// The elements of packs as floats, and floats rounded to a pack.
template <class T, int WIDTH, int ITEMS>
__device__ __forceinline__ void widen(float (&values)[ITEMS][WIDTH], const Pack<T, WIDTH> (&packs)[ITEMS]) {
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) values[item][i] = static_cast<float>(packs[item].value[i]);
  }
}
template <class T, int WIDTH>
__device__ __forceinline__ Pack<T, WIDTH> narrow(const float (&values)[WIDTH]) {
  Pack<T, WIDTH> pack;
  if constexpr (sizeof(T) == 2 && WIDTH % 2 == 0) {  // pairs as words: the compiler would hold halves apart
#pragma unroll
    for (int i = 0; i < WIDTH; i += 2) {
      reinterpret_cast<u32*>(&pack)[i / 2] = pack_pair<Element<T>>(values[i], values[i + 1]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) pack.value[i] = static_cast<T>(values[i]);
  }
  return pack;
}

}  // namespace ak
