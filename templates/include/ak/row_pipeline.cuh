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

#include <ak/barriers.cuh>
#include <ak/clusters.cuh>
#include <ak/copies.cuh>
#include <ak/tma.cuh>
#include <ak/vectors.cuh>

namespace ak {

constexpr int kMostStages = 32;        // of a ring of chunks
constexpr int kMostBlocksOfARow = 16;  // of a cluster of sm_90; other devices have 8

/// Place in a ring whose length is known when the kernel runs.
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

// The value of the lane whose number differs in the bits of `offset`, of a struct of words.
template <class Found>
__device__ __forceinline__ Found exchange_words(Found found, int offset) {
  static_assert(sizeof(Found) % 4 == 0 && sizeof(Found) <= 16,
                "what a row's threads find is 16 bytes at most");
  u32* words = reinterpret_cast<u32*>(&found);
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(Found) / 4); ++i)
    words[i] = __shfl_xor_sync(0xffffffffu, words[i], offset);
  return found;
}
/// What `lanes` neighbouring lanes (a power of two) have found, the same in each.
template <class Operator, class Found>
__device__ __forceinline__ Found found_by_lanes(const Operator& op, Found found, int lanes) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    if (offset < lanes) found = op.both(found, exchange_words(found, offset));
  }
  return found;
}

/// Sends 16 bytes to the shared memory of a block of the cluster, and tells its barrier; addresses are remote ones.
__device__ __forceinline__ void send_remote(u32 to, u32 barrier, uint4 words) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
          to),
      "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w), "r"(barrier)
      : "memory");
}

/// Joins what the THREADS threads of a block, and the blocks of its cluster, found in a row. Two sets of parts take turns.
template <int THREADS>
class RowExchange {
 public:
  struct Shared {
    uint4 of_warps[2][THREADS / 32], of_blocks[2][kMostBlocksOfARow];
    u64 met[2];
  };
  /// By one thread, before publish_barriers().
  static __device__ __forceinline__ void init(Shared& shared) {
    barrier_init(shared_address(&shared.met[0]), 1);
    barrier_init(shared_address(&shared.met[1]), 1);
  }
  __device__ __forceinline__ RowExchange(Shared& shared, int rank, int blocks)
      : shared_(shared), rank_(rank), blocks_(blocks) {}

  /// The same in all threads of the row, of which all take part.
  template <class Operator, class Found>
  __device__ __forceinline__ Found operator()(const Operator& op, Found found) {
    constexpr int kWarps = THREADS / 32;
    const int lane = lane_index(), turn = turn_;
    found = found_by_lanes(op, found, 32);
    if (lane == 0) *reinterpret_cast<Found*>(&shared_.of_warps[turn][warp_index()]) = found;
    named_barrier<THREADS>(1);
    if (blocks_ == 1 || warp_index() == 0) {
      found = *reinterpret_cast<const Found*>(&shared_.of_warps[turn][lane % kWarps]);
      found = found_by_lanes(op, found, kWarps);
    }
    if (blocks_ > 1) {
      const u32 met = shared_address(&shared_.met[turn]);
      if (warp_index() == 0) {
        if (lane == 0) barrier_expect(met, blocks_ * 16);
        if (lane < blocks_) {
          union {
            uint4 words;
            Found part;
          } sent;
          sent.words = make_uint4(0, 0, 0, 0);
          sent.part = found;
          send_remote(remote_address(shared_address(&shared_.of_blocks[turn][rank_]), lane),
                      remote_address(met, lane), sent.words);
        }
      }
      barrier_wait(met, parity_);
      found = *reinterpret_cast<const Found*>(&shared_.of_blocks[turn][lane % blocks_]);
      found = found_by_lanes(op, found, blocks_);
    }
    turn_ ^= 1;
    parity_ ^= turn_ == 0 ? 1 : 0;
    return found;
  }

 private:
  Shared& shared_;
  int rank_, blocks_, turn_ = 0;
  u32 parity_ = 0;
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

/// The same for short rows, of LANES * VECTORS vectors of 16 bytes at most: LANES lanes hold a row in registers, and ROWS
/// rows at once. Blocks of THREADS threads take THREADS / LANES * ROWS rows each.
template <int THREADS, int LANES, int VECTORS, int ROWS, Cache HINT, class Operator>
__device__ __forceinline__ void hold_short_rows(const Operator& op, long long m, int n) {
  using T = typename Operator::Element;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T)), kGroups = 32 / LANES;
  constexpr int kSources = Operator::kSources, kWeights = Operator::kWeights;
  const int lane = lane_index() % LANES;
  const long long warp = static_cast<long long>(blockIdx.x) * (THREADS / 32) + warp_index();
  const auto row_of = [&](int r) { return (warp * ROWS + r) * kGroups + lane_index() / LANES; };
  const auto column_of = [&](int v) { return (v * LANES + lane) * kWidth; };
  Pack<T, kWidth> packs[ROWS][VECTORS][kSources], weights[VECTORS][kWeights > 0 ? kWeights : 1];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      if (row_of(r) >= m || column_of(v) >= n) continue;
#pragma unroll
      for (int s = 0; s < kSources; ++s)
        packs[r][v][s] = load<kWidth, HINT>(op.source(s) + row_of(r) * n + column_of(v));
    }
  }
  if constexpr (kWeights > 0) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      if (column_of(v) >= n) continue;
#pragma unroll
      for (int w = 0; w < kWeights; ++w)
        weights[v][w] = load<kWidth, Cache::read_only>(op.weight(w) + column_of(v));
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    auto own = op.begin();
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      if (row_of(r) < m && column_of(v) < n) op.add(own, packs[r][v], row_of(r), column_of(v));
    }
    const auto found = found_by_lanes(op, op.found(own), LANES);
    if (row_of(r) >= m) continue;
    const auto result = op.result(found, row_of(r), lane == 0);
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      if (column_of(v) < n) op.put(result, packs[r][v], weights[v], row_of(r), column_of(v));
    }
  }
}

/// The same for any rows, which are read twice: one a block of THREADS threads, in packs of WIDTH that divide n.
template <int THREADS, int WIDTH, class Operator>
__device__ __forceinline__ void read_rows_twice(const Operator& op, int n) {
  using T = typename Operator::Element;
  constexpr int kAtOnce = 4, kWarps = THREADS / 32;
  constexpr int kSources = Operator::kSources, kWeights = Operator::kWeights;
  __shared__ uint4 parts[kWarps];
  const long long row = blockIdx.x;
  const auto for_row = [&](auto use) {
    for (int start = static_cast<int>(threadIdx.x) * WIDTH; start < n; start += kAtOnce * THREADS * WIDTH) {
      Pack<T, WIDTH> packs[kAtOnce][kSources];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int column = start + k * THREADS * WIDTH;
        if (column >= n) continue;
#pragma unroll
        for (int s = 0; s < kSources; ++s) packs[k][s] = load<WIDTH>(op.source(s) + row * n + column);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int column = start + k * THREADS * WIDTH;
        if (column < n) use(packs[k], column);
      }
    }
  };
  auto own = op.begin();
  for_row([&](const Pack<T, WIDTH>(&packs)[kSources], int column) { op.add(own, packs, row, column); });
  auto found = found_by_lanes(op, op.found(own), 32);
  using Found = decltype(found);
  if (lane_index() == 0) *reinterpret_cast<Found*>(&parts[warp_index()]) = found;
  __syncthreads();
  found = *reinterpret_cast<const Found*>(&parts[lane_index() % kWarps]);
  found = found_by_lanes(op, found, kWarps);
  const auto result = op.result(found, row, threadIdx.x == 0);
  for_row([&](const Pack<T, WIDTH>(&packs)[kSources], int column) {
    Pack<T, WIDTH> weights[kWeights > 0 ? kWeights : 1];
    if constexpr (kWeights > 0) {
#pragma unroll
      for (int w = 0; w < kWeights; ++w) weights[w] = load<WIDTH, Cache::read_only>(op.weight(w) + column);
    }
    op.put(result, packs, weights, row, column);
  });
}

}  // namespace ak
