/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [128, 256, 512, 1024], "default": 256},
    "ELEMENTS": {"values": [8, 16, 32], "default": 16},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "constraints": ["THREADS * ELEMENTS <= 16384"],
  "let": {
    "TILES": "ceil_div(N, THREADS * ELEMENTS)",
    "LOOKS_BACK": "TILES > 1"
  },
  "workspace": [
    {"name": "ticket", "dtype": "uint32", "count": "1 if LOOKS_BACK else 0", "init": "zero"},
    {"name": "of_tiles", "dtype": "int64", "count": "TILES if LOOKS_BACK else 0", "init": "zero"},
    {"name": "of_groups", "dtype": "int64", "count": "ceil_div(TILES, 32) if LOOKS_BACK else 0", "init": "zero"},
    {"name": "of_supergroups", "dtype": "int64", "count": "ceil_div(TILES, 1024) if LOOKS_BACK else 0", "init": "zero"}
  ],
  "launches": [
    {"kernel": "scan_tiles", "grid": ["TILES"], "block": ["THREADS"],
     "args": ["x", "keys", "y", "ticket", "of_tiles", "of_groups", "of_supergroups", {"i64": "N"}, {"i32": "TILES"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Sums along runs of equal keys, read once and written once. A sum of neighbours is what follows their last start of a
// segment, with a mark if there is one; where the right one of two sums has a mark it stands alone, else the left one is
// added. A warp holds ELEMENTS elements a lane in packs of 16 bytes, 32 neighbouring packs an item. Its lanes vote which
// have starts, so that a shuffle adds only what comes after the last start. Elements are cut into tiles of a block each,
// whose sums stay in registers until what comes before them is known. A tile makes its own sum known at once; the last of
// 32 tiles that of its group, the last of 32 groups that of its supergroup. What comes before a tile is the sum of the
// supergroups, the groups of its supergroup and the tiles of its group before it, always added in the same order. A tile
// waits for those of smaller numbers: blocks take numbers as they begin, so that these have begun.
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
constexpr int WARPS = THREADS / 32, VEC = 4, ITEMS = ELEMENTS / VEC;
constexpr ak::u32 ALL = 0xffffffffu;

// The sum of neighbouring elements after their last start; starts: whether they have one.
struct Part {
  sum_t sum;
  bool starts;
};

// The sum of two neighbours.
__device__ __forceinline__ Part join(Part left, Part right) {
  return {right.starts ? right.sum : left.sum + right.sum, left.starts || right.starts};
}

// The sum over this lane and those before it. Lanes from the last start on are added, nearest first.
__device__ __forceinline__ Part scan_lanes(Part part) {
  const int lane = ak::lane_index();
  const ak::u32 up_to = __ballot_sync(ALL, part.starts) & (ALL >> (31 - lane));
  const int first = up_to == 0 ? 0 : 31 - __clz(static_cast<int>(up_to));
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const sum_t other = __shfl_up_sync(ALL, part.sum, offset);
    if (lane - offset >= first) part.sum = other + part.sum;
  }
  return {part.sum, up_to != 0};
}

// What lane `lane` has, in all lanes.
__device__ __forceinline__ Part from_lane(Part part, int lane) {
  return {__shfl_sync(ALL, part.sum, lane), __shfl_sync(ALL, static_cast<int>(part.starts), lane) != 0};
}

// 32 * ELEMENTS neighbouring elements in the registers of a warp.
class Segment {
 public:
  static constexpr int kElements = 32 * ELEMENTS;

  // Reads those from `first` on that there are, and gives their sum.
  __device__ __forceinline__ Part read(const scalar_t* x, const int* keys, long long first, long long n) {
    ak::Pack<scalar_t, VEC> values[ITEMS];
    ak::Pack<int, VEC> all_keys[ITEMS];
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const long long at = first + place(item);
      if (at + VEC <= n) {
        values[item] = ak::load<VEC, HINT>(x + at);
        all_keys[item] = ak::load<VEC, HINT>(keys + at);
      } else {
#pragma unroll
        for (int i = 0; i < VEC; ++i) {
          values[item].value[i] = at + i < n ? x[at + i] : scalar_t(0);
          all_keys[item].value[i] = at + i < n ? keys[at + i] : 0;
        }
      }
    }
    int key_before = ak::lane_index() == 0 && first > 0 && first <= n ? keys[first - 1] : 0;  // of the item
    Part total{sum_t(0), false};
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int last_key = all_keys[item].value[VEC - 1];
      int before = __shfl_up_sync(ALL, last_key, 1);
      if (ak::lane_index() == 0) before = key_before;
      key_before = __shfl_sync(ALL, last_key, 31);
      starts_[item] = 0;
      Part part{sum_t(0), false};
#pragma unroll
      for (int i = 0; i < VEC; ++i) {
        const int key = all_keys[item].value[i];
        const bool starts = key != before || (item == 0 && i == 0 && first + place(0) == 0);
        before = key;
        starts_[item] |= starts ? 1u << i : 0u;
        part = join(part, {static_cast<sum_t>(values[item].value[i]), starts});
        sums_[item][i] = EXCLUSIVE ? static_cast<sum_t>(values[item].value[i]) : part.sum;
      }
      const Part with_own = scan_lanes(part);
      Part lanes_before{__shfl_up_sync(ALL, with_own.sum, 1),
                        __shfl_up_sync(ALL, static_cast<int>(with_own.starts), 1) != 0};
      if (ak::lane_index() == 0) lanes_before = {sum_t(0), false};
      before_[item] = join(total, lanes_before);
      total = join(total, from_lane(with_own, 31));
    }
    return total;
  }

  // Writes the sums; `start` is that of all elements before the segment.
  __device__ __forceinline__ void write(scalar_t* y, long long first, long long n, sum_t start) const {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const long long at = first + place(item);
      sum_t carried = before_[item].starts ? before_[item].sum : start + before_[item].sum;
      ak::Pack<scalar_t, VEC> pack;
#pragma unroll
      for (int i = 0; i < VEC; ++i) {
        if (starts_[item] >> i & 1) carried = sum_t(0);
        if (EXCLUSIVE) {
          pack.value[i] = static_cast<scalar_t>(carried);
          carried += sums_[item][i];
        } else {
          pack.value[i] = static_cast<scalar_t>(carried + sums_[item][i]);
        }
      }
      if (at + VEC <= n) {
        ak::store<HINT>(y + at, pack);
      } else {
#pragma unroll
        for (int i = 0; i < VEC; ++i) {
          if (at + i < n) y[at + i] = pack.value[i];
        }
      }
    }
  }

 private:
  static __device__ __forceinline__ int place(int item) { return (item * 32 + ak::lane_index()) * VEC; }

  sum_t sums_[ITEMS][VEC];  // within the pack, from its last start on; of exclusive sums the elements
  ak::u32 starts_[ITEMS];   // a bit for every element of the pack
  Part before_[ITEMS];      // of the warp's elements before the pack
};

// A sum that other blocks wait for: its bits, and above them two flags, in a word that is zero before.
__device__ __forceinline__ void publish(ak::u64* word, Part part) {
  const ak::u64 bits = (part.starts ? 3ull : 1ull) << 32 | bits_of(part.sum);
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(bits) : "memory");
}
__device__ __forceinline__ Part wait_for(const ak::u64* word) {
  ak::u64 published;
  do {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(published) : "l"(word) : "memory");
  } while (published >> 32 == 0);
  return {sum_from(static_cast<ak::u32>(published)), published >> 33 != 0};
}
// The sum of `count` published sums, the same in all lanes of the warp.
__device__ __forceinline__ Part sum_published(const ak::u64* words, int count) {
  Part sum{sum_t(0), false};
  for (int first = 0; first < count; first += 32) {
    const int i = first + ak::lane_index();
    Part part{sum_t(0), false};
    if (i < count) part = wait_for(words + i);
    sum = join(sum, from_lane(scan_lanes(part), 31));
  }
  return sum;
}

// What comes before tile `tile`, whose sum is `own`, by one warp.
__device__ __forceinline__ Part look_back(ak::u64* tiles, ak::u64* groups, ak::u64* supergroups, int tile, Part own) {
  const bool publishes = ak::lane_index() == 0;
  const int group = tile / 32, supergroup = tile / 1024;
  if (publishes) publish(tiles + tile, own);
  const Part in_group = sum_published(tiles + group * 32, tile % 32);
  if (publishes && tile % 32 == 31) publish(groups + group, join(in_group, own));
  const Part in_supergroup = sum_published(groups + supergroup * 32, group % 32);
  if (publishes && tile % 1024 == 1023) publish(supergroups + supergroup, join(in_supergroup, join(in_group, own)));
  return join(join(sum_published(supergroups, supergroup), in_supergroup), in_group);
}

// The number of this block, from 0 on.
__device__ __forceinline__ unsigned int take_number(unsigned int* ticket) {
  __shared__ unsigned int number;
  if (threadIdx.x == 0) number = atomicAdd(ticket, 1u);
  __syncthreads();
  return number;
}

__global__ void __launch_bounds__(THREADS)
    scan_tiles(const scalar_t* __restrict__ x, const int* __restrict__ keys, scalar_t* __restrict__ y,
               unsigned int* ticket, ak::u64* of_tiles, ak::u64* of_groups, ak::u64* of_supergroups, long long n,
               int tiles) {
  __shared__ sum_t warp_sums[WARPS], before_tile;
  __shared__ int warp_starts[WARPS];
  const int tile = static_cast<int>(tiles > 1 ? take_number(ticket) : blockIdx.x), warp = ak::warp_index();
  const long long first = (static_cast<long long>(tile) * WARPS + warp) * Segment::kElements;
  Segment segment;
  const Part own = segment.read(x, keys, first, n);
  if (ak::lane_index() == 0) {
    warp_sums[warp] = own.sum;
    warp_starts[warp] = own.starts;
  }
  __syncthreads();
  Part part{sum_t(0), false};
  if (ak::lane_index() < WARPS) part = {warp_sums[ak::lane_index() % WARPS], warp_starts[ak::lane_index() % WARPS] != 0};
  const Part up_to = scan_lanes(part), before_warp = from_lane(up_to, warp == 0 ? 0 : warp - 1);
  sum_t before = 0;
  if (tiles > 1) {
    if (warp == 0) {
      before = look_back(of_tiles, of_groups, of_supergroups, tile, from_lane(up_to, WARPS - 1)).sum;
      if (ak::lane_index() == 0) before_tile = before;
    }
    __syncthreads();
    before = before_tile;
  }
  if (warp > 0) before = before_warp.starts ? before_warp.sum : before + before_warp.sum;
  segment.write(y, first, n, before);
}
