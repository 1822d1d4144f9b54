// SPDX-License-Identifier: Apache-2.0
// Rows that stream through shared memory: the next ones arrive while one is reduced and written. From sm_90 on.
//
//   producer warp:  bulk copies ─► ring of chunks, as far ahead as the ring is long
//   others:         each chunk of a row ─► what is found in it     first reading, from shared memory
//                   what all threads, and all blocks of a cluster, have found: one exchange a row
//                   each chunk again ─► result ─► global memory    second reading; the chunk is free
//
// Blocks stay and take rows in turn. A row is read once from global memory, however long: a cluster shares its chunks,
// rank by rank. A barrier of the cluster is never met: blocks send each other 16 bytes a row, and wait for those alone.
#pragma once

#include <ak/copies.cuh>
#include <ak/row_exchange.cuh>
#include <ak/tma.cuh>
#include <ak/vectors.cuh>

namespace ak {

[[maybe_unused]] constexpr int kMostStages = 32;  // of a ring of chunks

// Place in a ring whose length is known when the kernel runs.
struct PlaceInRing {
  int stage = 0;
  u32 parity = 0;
  __device__ __forceinline__ void advance(int stages) {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ __forceinline__ u32 of(const u64* barriers) const { return shared_address(barriers + stage); }
};

/// Streams m rows of n elements (a multiple of 16 bytes, matrices aligned to 16) with blocks of THREADS + 32 threads.
/// Dynamic shared memory: `stages` chunks of THREADS * ITEMS * 16 bytes of every source, more than a block has of a row,
/// and with HELD its chunks of every weight. An Operator has
///
///   Element, kSources, kWeights     type of what is read; matrices; vectors of n that each row needs
///   source(s), weight(w)            where they are
///   begin() -> Own                  what a thread has found before it starts
///   add(own, packs, row, column)    with a pack of every source
///   found(own) -> Found             what is passed on: 16 bytes at most; both(a, b) of two
///   result(found, row, first)       -> what `put` needs; `first` in one thread of the row
///   put(result, packs, weights, row, column)
template <int THREADS, int ITEMS, bool HELD, bool ONCE, class Operator>
__device__ __forceinline__ void stream_rows(const Operator& op, long long m, int n, int stages) {
  using T = typename Operator::Element;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T)), kVectors = THREADS * ITEMS;
  constexpr int kSources = Operator::kSources, kWeights = Operator::kWeights;
  extern __shared__ __align__(128) uint4 chunks_of_rows[];
  __shared__ typename RowExchange<THREADS>::Shared exchanged;
  __shared__ u64 full[kMostStages], empty[kMostStages], held;

  const int rank = static_cast<int>(cluster_rank()), blocks = static_cast<int>(cluster_size());
  const int vectors = n / kWidth, chunks = (vectors + kVectors - 1) / kVectors;
  const int part = (chunks - rank + blocks - 1) / blocks;  // chunks of this block
  const long long first = blockIdx.x / blocks, step = gridDim.x / blocks;
  const auto chunk = [&](int stage, int source) {
    return chunks_of_rows + (stage * kSources + source) * kVectors;
  };
  [[maybe_unused]] const auto chunk_of_weight = [&](int weight, int k) {
    return chunks_of_rows + (stages * kSources + weight * part + k) * kVectors;
  };

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < stages; ++stage) {
      barrier_init(shared_address(full + stage), 1);
      barrier_init(shared_address(empty + stage), THREADS / 32);
    }
    barrier_init(shared_address(&held), 1);
    RowExchange<THREADS>::init(exchanged);
    publish_barriers();
  }
  __syncthreads();
  if (blocks > 1) cluster_sync();

  if (threadIdx.x >= THREADS) {
    if (threadIdx.x == THREADS) {
      const u64 policy = cache_policy(ONCE);
      PlaceInRing place;
      for (long long row = first; row < m; row += step) {
        for (int k = 0; k < part; ++k) {
          const int begin = (k * blocks + rank) * kVectors, bytes = min(kVectors, vectors - begin) * 16;
          barrier_wait(place.of(empty), place.parity ^ 1);
          barrier_expect(place.of(full), bytes * kSources);
#pragma unroll
          for (int s = 0; s < kSources; ++s) {
            bulk_load(shared_address(chunk(place.stage, s)),
                      op.source(s) + row * n + static_cast<long long>(begin) * kWidth, bytes, place.of(full),
                      policy);
          }
          place.advance(stages);
        }
        if constexpr (HELD && kWeights > 0) {
          if (row != first || part == 0)
            continue;  // weights come after the first row, which does not wait for them
          const int last = vectors - ((part - 1) * blocks + rank) * kVectors;
          barrier_expect(shared_address(&held),
                         ((part - 1) * kVectors + min(kVectors, last)) * 16 * kWeights);
          for (int k = 0; k < part; ++k) {
            const int begin = (k * blocks + rank) * kVectors, bytes = min(kVectors, vectors - begin) * 16;
            for (int w = 0; w < kWeights; ++w) {
              bulk_load(shared_address(chunk_of_weight(w, k)), op.weight(w) + begin * kWidth, bytes,
                        shared_address(&held));
            }
          }
        }
      }
    }
    __syncwarp();
  } else {
    const int thread = static_cast<int>(threadIdx.x);
    RowExchange<THREADS> exchange(exchanged, rank, blocks);
    Pack<T, kWidth> packs[ITEMS][kSources];
    // This thread's vectors of a chunk that is at `stage`; those past the row's end stay what they were.
    const auto read = [&](int stage, int begin) {
#pragma unroll
      for (int item = 0; item < ITEMS; ++item) {
        if (begin + item * THREADS >= vectors) continue;
#pragma unroll
        for (int s = 0; s < kSources; ++s) packs[item][s].raw = chunk(stage, s)[item * THREADS + thread];
      }
    };
    PlaceInRing place;
    for (long long row = first; row < m; row += step) {
      PlaceInRing again = place;
      auto own = op.begin();
      for (int k = 0; k < part; ++k) {
        const int begin = (k * blocks + rank) * kVectors + thread;
        barrier_wait(place.of(full), place.parity);
        read(place.stage, begin);
#pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
          const int vector = begin + item * THREADS;
          if (vector < vectors) op.add(own, packs[item], row, vector * kWidth);
        }
        place.advance(stages);
      }
      const auto result = op.result(exchange(op, op.found(own)), row, rank == 0 && thread == 0);
      if (HELD && kWeights > 0 && part > 0) barrier_wait(shared_address(&held), 0);
      for (int k = 0; k < part; ++k) {
        const int begin = (k * blocks + rank) * kVectors + thread;
        Pack<T, kWidth> weights[ITEMS][kWeights > 0 ? kWeights : 1];
#pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
          if constexpr (kWeights > 0) {
            if (begin + item * THREADS >= vectors) continue;
#pragma unroll
            for (int w = 0; w < kWeights; ++w) {
              if constexpr (HELD) {
                weights[item][w].raw = chunk_of_weight(w, k)[item * THREADS + thread];
              } else {
                weights[item][w] =
                    load<kWidth, Cache::read_only>(op.weight(w) + (begin + item * THREADS) * kWidth);
              }
            }
          }
        }
        read(again.stage, begin);
#pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
          const int vector = begin + item * THREADS;
          if (vector < vectors) op.put(result, packs[item], weights[item], row, vector * kWidth);
        }
        __syncwarp();
        if (lane_index() == 0) barrier_arrive(again.of(empty));
        again.advance(stages);
      }
    }
  }
  if (blocks > 1) cluster_sync();  // a block stays while others send to it
}

}  // namespace ak
