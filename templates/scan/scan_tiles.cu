/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [128, 256, 512, 1024], "default": 256},
    "ELEMENTS": {"values": [8, 16, 32], "default": 16},
    "WARP_ROW": {"values": [256, 1024, 4096], "default": 1024},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "constraints": ["THREADS * ELEMENTS <= 16384"],
  "let": {
    "TILES": "ceil_div(N, THREADS * ELEMENTS)",
    "GROUPS": "ceil_div(TILES, 32)",
    "SUPERGROUPS": "ceil_div(TILES, 1024)",
    "BY_WARPS": "N <= WARP_ROW",
    "LOOKS_BACK": "TILES > 1 and not BY_WARPS",
    "VEC": "4 if N % 4 == 0 or M == 1 else 1"
  },
  "workspace": [
    {"name": "ticket", "dtype": "uint32", "count": "1 if LOOKS_BACK else 0", "init": "zero"},
    {"name": "of_tiles", "dtype": "int64", "count": "M * TILES if LOOKS_BACK else 0", "init": "zero"},
    {"name": "of_groups", "dtype": "int64", "count": "M * GROUPS if LOOKS_BACK else 0", "init": "zero"},
    {"name": "of_supergroups", "dtype": "int64", "count": "M * SUPERGROUPS if LOOKS_BACK else 0", "init": "zero"}
  ],
  "launches": [
    {"kernel": "scan_rows<4>", "grid": ["ceil_div(M, THREADS // 32)"], "block": ["THREADS"], "when": "BY_WARPS and VEC == 4",
     "args": ["x", "y", {"i64": "M"}, {"i64": "N"}]},
    {"kernel": "scan_rows<1>", "grid": ["ceil_div(M, THREADS // 32)"], "block": ["THREADS"], "when": "BY_WARPS and VEC == 1",
     "args": ["x", "y", {"i64": "M"}, {"i64": "N"}]},
    {"kernel": "scan_tiles<4>", "grid": ["M * TILES"], "block": ["THREADS"], "when": "not BY_WARPS and VEC == 4",
     "args": ["x", "y", "ticket", "of_tiles", "of_groups", "of_supergroups", {"i64": "N"}, {"i32": "TILES"}]},
    {"kernel": "scan_tiles<1>", "grid": ["M * TILES"], "block": ["THREADS"], "when": "not BY_WARPS and VEC == 1",
     "args": ["x", "y", "ticket", "of_tiles", "of_groups", "of_supergroups", {"i64": "N"}, {"i32": "TILES"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Sums along rows, read once and written once. A warp holds ELEMENTS elements a lane in packs of 16 bytes, 32 neighbouring
// packs an item, and sums them with shuffles. A short row has one warp. A long one is cut into tiles of a block each,
// whose sums stay in registers until what comes before them is known. A tile makes its own sum known at once; the last
// of 32 tiles that of its group, the last of 32 groups that of its supergroup. What comes before a tile is then the sum
// of the supergroups, the groups of its supergroup and the tiles of its group before it, always added in the same order:
// three waits whatever the row's length, and the same bits every time. A tile waits for those of smaller numbers: blocks
// take numbers as they begin, so that these have begun.
#include <ak/reduce.cuh>
#include <ak/threads.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 256;
constexpr int ELEMENTS = 16;
constexpr int CACHE = 1;
constexpr bool EXCLUSIVE = false;
using scalar_t = float;
#endif

#ifdef AK_DTYPE_INT32
using sum_t = unsigned int;  // modulo 2^32
__device__ __forceinline__ ak::u32 bits_of(sum_t sum) { return sum; }
__device__ __forceinline__ sum_t sum_from(ak::u32 bits) { return bits; }
#else
using sum_t = float;
__device__ __forceinline__ ak::u32 bits_of(sum_t sum) { return __float_as_uint(sum); }
__device__ __forceinline__ sum_t sum_from(ak::u32 bits) { return __uint_as_float(bits); }
#endif

// CACHE 1: evict-first hints, as every element is touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;
constexpr int WARPS = THREADS / 32;

// The sum over this lane and those before it.
__device__ __forceinline__ sum_t scan_lanes(sum_t value) {
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const sum_t other = __shfl_up_sync(0xffffffffu, value, offset);
    if (ak::lane_index() >= offset) value = other + value;
  }
  return value;
}

// 32 * ELEMENTS neighbouring elements of a row in the registers of a warp.
template <int VEC>
class Segment {
 public:
  static constexpr int kElements = 32 * ELEMENTS;

  // Reads those from `first` on that the row of n elements has, and gives their sum. Packs begin at multiples of their
  // size.
  __device__ __forceinline__ sum_t read(const scalar_t* row, long long first, long long n) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      const long long at = first + place(item);
      if (at + VEC <= n) {
        const auto pack = ak::load<VEC, HINT>(row + at);
#pragma unroll
        for (int i = 0; i < VEC; ++i) sums_[item][i] = static_cast<sum_t>(pack.value[i]);
      } else {
#pragma unroll
        for (int i = 0; i < VEC; ++i) sums_[item][i] = at + i < n ? static_cast<sum_t>(row[at + i]) : sum_t(0);
      }
    }
    sum_t total = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
#pragma unroll
      for (int i = 1; i < VEC; ++i) sums_[item][i] += sums_[item][i - 1];
      const sum_t with_own = scan_lanes(sums_[item][VEC - 1]);
      const sum_t before = __shfl_up_sync(0xffffffffu, with_own, 1);
      before_[item] = ak::lane_index() == 0 ? total : total + before;
      total += __shfl_sync(0xffffffffu, with_own, 31);
    }
    return total;
  }

  // Writes the sums; `start` is that of all elements before the segment.
  __device__ __forceinline__ void write(scalar_t* row, long long first, long long n, sum_t start) const {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      const long long at = first + place(item);
      const sum_t before = start + before_[item];
      ak::Pack<scalar_t, VEC> pack;
#pragma unroll
      for (int i = 0; i < VEC; ++i) {
        if (EXCLUSIVE) {
          pack.value[i] = static_cast<scalar_t>(i == 0 ? before : before + sums_[item][i > 0 ? i - 1 : 0]);
        } else {
          pack.value[i] = static_cast<scalar_t>(before + sums_[item][i]);
        }
      }
      if (at + VEC <= n) {
        ak::store<HINT>(row + at, pack);
      } else {
#pragma unroll
        for (int i = 0; i < VEC; ++i) {
          if (at + i < n) row[at + i] = pack.value[i];
        }
      }
    }
  }

 private:
  static constexpr int kItems = ELEMENTS / VEC;

  static __device__ __forceinline__ int place(int item) { return (item * 32 + ak::lane_index()) * VEC; }

  sum_t sums_[kItems][VEC];  // within the pack
  sum_t before_[kItems];     // of the segment, before the pack
};

template <int VEC>
__global__ void __launch_bounds__(THREADS)
    scan_rows(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, long long rows, long long n) {
  const long long row = static_cast<long long>(blockIdx.x) * WARPS + ak::warp_index();
  if (row >= rows) return;
  sum_t start = 0;
  for (long long first = 0; first < n; first += Segment<VEC>::kElements) {
    Segment<VEC> segment;
    const sum_t total = segment.read(x + row * n, first, n);
    segment.write(y + row * n, first, n, start);
    start += total;
  }
}

// A sum that other blocks wait for: its bits, and a flag above them, in a word that is zero before.
__device__ __forceinline__ void publish(ak::u64* word, sum_t sum) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(1ull << 32 | bits_of(sum)) : "memory");
}
__device__ __forceinline__ sum_t wait_for(const ak::u64* word) {
  ak::u64 published;
  do {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(published) : "l"(word) : "memory");
  } while (published >> 32 == 0);
  return sum_from(static_cast<ak::u32>(published));
}
// The sum of `count` published sums, the same in all lanes of the warp.
__device__ __forceinline__ sum_t sum_published(const ak::u64* words, int count) {
  sum_t sum = 0;
  for (int i = ak::lane_index(); i < count; i += 32) sum += wait_for(words + i);
  return ak::reduce_lanes(sum, ak::Sum());
}

// What comes before tile `tile` of a row, whose sum is `own`, by one warp.
__device__ __forceinline__ sum_t look_back(ak::u64* tiles, ak::u64* groups, ak::u64* supergroups, int tile, sum_t own) {
  const bool publishes = ak::lane_index() == 0;
  const int group = tile / 32, supergroup = tile / 1024;
  if (publishes) publish(tiles + tile, own);
  const sum_t in_group = sum_published(tiles + group * 32, tile % 32);
  if (publishes && tile % 32 == 31) publish(groups + group, in_group + own);
  const sum_t in_supergroup = sum_published(groups + supergroup * 32, group % 32);
  if (publishes && tile % 1024 == 1023) publish(supergroups + supergroup, in_supergroup + (in_group + own));
  return sum_published(supergroups, supergroup) + in_supergroup + in_group;
}

// The number of this block, from 0 on.
__device__ __forceinline__ unsigned int take_number(unsigned int* ticket) {
  __shared__ unsigned int number;
  if (threadIdx.x == 0) number = atomicAdd(ticket, 1u);
  __syncthreads();
  return number;
}

template <int VEC>
__global__ void __launch_bounds__(THREADS)
    scan_tiles(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, unsigned int* ticket, ak::u64* of_tiles,
               ak::u64* of_groups, ak::u64* of_supergroups, long long n, int tiles) {
  __shared__ sum_t warp_sums[WARPS], before_tile;
  const unsigned int number = tiles > 1 ? take_number(ticket) : blockIdx.x;
  const long long row = number / tiles;
  const int tile = static_cast<int>(number % tiles), warp = ak::warp_index();
  const long long first = (static_cast<long long>(tile) * WARPS + warp) * Segment<VEC>::kElements;
  Segment<VEC> segment;
  const sum_t own = segment.read(x + row * n, first, n);
  if (ak::lane_index() == 0) warp_sums[warp] = own;
  __syncthreads();
  const sum_t up_to = scan_lanes(ak::lane_index() < WARPS ? warp_sums[ak::lane_index() % WARPS] : sum_t(0));
  const sum_t before_warp = warp == 0 ? sum_t(0) : __shfl_sync(0xffffffffu, up_to, warp - 1);
  sum_t before = 0;
  if (tiles > 1) {
    if (warp == 0) {
      const long long groups = (tiles + 31) / 32, supergroups = (tiles + 1023) / 1024;
      before = look_back(of_tiles + row * tiles, of_groups + row * groups, of_supergroups + row * supergroups, tile,
                         __shfl_sync(0xffffffffu, up_to, WARPS - 1));
      if (ak::lane_index() == 0) before_tile = before;
    }
    __syncthreads();
    before = before_tile;
  }
  segment.write(y + row * n, first, n, before + before_warp);
}
