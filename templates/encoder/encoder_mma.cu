/* alphakernel
{
  "tunables": {
    "BM": {"values": [16, 32, 64, 128], "default": 64},
    "BN": {"values": [64, 128], "default": 128},
    "WN": {"values": [32, 64], "default": 32},
    "BK": {"values": [64, 128], "default": 64},
    "STAGES": {"values": [3, 4], "default": 4},
    "KEYS": {"values": [64, 128], "default": 64},
    "KEY_STAGES": {"values": [2, 3], "default": 2},
    "NORM_THREADS": {"values": [128, 256], "default": 128},
    "POOL_WARPS": {"values": [8, 16], "default": 8}
  },
  "constraints": [
    "ARCH >= 80",
    "BN // WN in [2, 4]",
    "WN * BM <= 4096",
    "SHARED <= SHARED_BYTES_PER_BLOCK",
    "KEYS_SHARED <= SHARED_BYTES_PER_BLOCK"
  ],
  "let": {
    "T": "B * S",
    "THREADS": "BN // WN * 32",
    "SHARED": "max(STAGES * (BM + BN) * BK * 2, BM * (BN + 4) * 4)",
    "KEYS_SHARED": "(64 + 2 * KEY_STAGES * KEYS) * D * 2",
    "DEEP_H": "ceil_div(H, 128) * 2",
    "DEEP_I": "ceil_div(I, 128) * 2"
  },
  "workspace": [
    {"name": "packed_qkv", "dtype": "uint8", "count": "ceil_div(3 * H, 64) * DEEP_H * 8192", "prepared": true},
    {"name": "packed_out", "dtype": "uint8", "count": "ceil_div(H, 64) * DEEP_H * 8192", "prepared": true},
    {"name": "packed_up", "dtype": "uint8", "count": "ceil_div(I, 64) * DEEP_H * 8192", "prepared": true},
    {"name": "packed_down", "dtype": "uint8", "count": "ceil_div(H, 64) * DEEP_I * 8192", "prepared": true},
    {"name": "tokens", "dtype": "dtype", "count": "T * H"},
    {"name": "projected", "dtype": "dtype", "count": "T * 3 * H"},
    {"name": "attended", "dtype": "dtype", "count": "T * H"},
    {"name": "added", "dtype": "dtype", "count": "T * H"},
    {"name": "normed", "dtype": "dtype", "count": "T * H"},
    {"name": "inside", "dtype": "dtype", "count": "T * I"}
  ],
  "prepare": [
    {"kernel": "pack_weights", "grid": ["DEEP_H", "ceil_div(3 * H, 64)"], "block": [128],
     "args": ["qkv", "packed_qkv", {"i32": "3 * H"}, {"i32": "H"}]},
    {"kernel": "pack_weights", "grid": ["DEEP_H", "ceil_div(H, 64)"], "block": [128],
     "args": ["out", "packed_out", {"i32": "H"}, {"i32": "H"}]},
    {"kernel": "pack_weights", "grid": ["DEEP_H", "ceil_div(I, 64)"], "block": [128],
     "args": ["up", "packed_up", {"i32": "I"}, {"i32": "H"}]},
    {"kernel": "pack_weights", "grid": ["DEEP_I", "ceil_div(H, 64)"], "block": [128],
     "args": ["down", "packed_down", {"i32": "H"}, {"i32": "I"}]}
  ],
  "launches": [
    {"kernel": "embed", "grid": ["ceil_div(T * H, 2048)"], "block": [256],
     "args": ["ids", "table", "positions", "tokens", {"i32": "T"}, {"i32": "S"}, {"i32": "V"}, {"i32": "H"}]},
    {"kernel": "multiply<false>", "grid": ["ceil_div(3 * H, BN) * ceil_div(T, BM)"], "block": ["THREADS"],
     "shared_bytes": "SHARED",
     "args": ["tokens", "packed_qkv", "projected", {"i32": "T"}, {"i32": "3 * H"}, {"i32": "H"}]},
    {"kernel": "attend", "grid": ["ceil_div(S, 64)", "H // D", "B"], "block": [128], "shared_bytes": "KEYS_SHARED",
     "args": ["projected", "lengths", "attended", {"i32": "S"}, {"i32": "H"}]},
    {"kernel": "multiply<false>", "grid": ["ceil_div(H, BN) * ceil_div(T, BM)"], "block": ["THREADS"],
     "shared_bytes": "SHARED",
     "args": ["attended", "packed_out", "added", {"i32": "T"}, {"i32": "H"}, {"i32": "H"}]},
    {"kernel": "add_norm", "grid": ["T"], "block": ["NORM_THREADS"],
     "args": ["tokens", "added", "weight_1", "bias_1", "normed", {"i32": "H"}]},
    {"kernel": "multiply<true>", "grid": ["ceil_div(I, BN) * ceil_div(T, BM)"], "block": ["THREADS"],
     "shared_bytes": "SHARED",
     "args": ["normed", "packed_up", "inside", {"i32": "T"}, {"i32": "I"}, {"i32": "H"}]},
    {"kernel": "multiply<false>", "grid": ["ceil_div(H, BN) * ceil_div(T, BM)"], "block": ["THREADS"],
     "shared_bytes": "SHARED",
     "args": ["inside", "packed_down", "added", {"i32": "T"}, {"i32": "H"}, {"i32": "I"}]},
    {"kernel": "add_norm", "grid": ["T"], "block": ["NORM_THREADS"],
     "args": ["normed", "added", "weight_2", "bias_2", "tokens", {"i32": "H"}]},
    {"kernel": "pool", "grid": ["B"], "block": ["POOL_WARPS * 32"], "shared_bytes": "4 * H",
     "args": ["tokens", "lengths", "y", {"i32": "S"}, {"i32": "H"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Token ids to sentence embeddings in nine launches. Matrix products are ak/linear_mma.cuh with weights that `prepare`
// packs; what goes from launch to launch is in the element type, and mostly in L2:
//
//   embed ─► multiply (q, k, v) ─► attend ─► multiply ─► add_norm ─► multiply, gelu ─► multiply ─► add_norm ─► pool
//
// attend: a block has 64 queries of a head, 16 for each warp, whose scores and results stay in registers while tiles of
// KEYS keys and values pass through shared memory; keys behind a sequence's end are not read. Tokens there go through
// the other steps, and nothing reads what becomes of them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/attention.cuh>
#include <ak/copies.cuh>
#include <ak/elements.cuh>
#include <ak/fragments.cuh>
#include <ak/functions.cuh>
#include <ak/linear_mma.cuh>
#include <ak/linear_results.cuh>
#include <ak/mma.cuh>
#include <ak/packed_weights.cuh>
#include <ak/reduce.cuh>
#include <ak/rows.cuh>
#include <ak/swizzle.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 64;
constexpr int BN = 128;
constexpr int WN = 32;
constexpr int BK = 64;
constexpr int STAGES = 4;
constexpr int KEYS = 64;
constexpr int KEY_STAGES = 2;
constexpr int NORM_THREADS = 128;
constexpr int POOL_WARPS = 8;
constexpr int D = 64;
using scalar_t = __nv_bfloat16;
#endif

using ak::u32;
using element = ak::Element<scalar_t>;
using Weights = ak::PlainWeights<element>;
using Tile = ak::LinearMma<Weights, BN, BM, BK, WN, 1, STAGES>;
using Eight = ak::Pack<scalar_t, 8>;

// A block of 64 lines by 64 of k; zeros past the ends.
__global__ void __launch_bounds__(128) pack_weights(const scalar_t* weight, unsigned char* packed, int n, int k) {
  const int first = blockIdx.y * 64, start = blockIdx.x * 64;
  unsigned char* block = packed + (static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x) * Weights::kBytes;
  ak::pack_block<Weights>(block, [&](int line, int at) -> u32 {
    const bool inside = first + line < n && start + at < k;
    return inside ? reinterpret_cast<const ak::u16*>(weight)[static_cast<long long>(first + line) * k + start + at] : 0;
  });
}

// tokens[t] = table[ids[t]] + positions[t % s]; an id out of range has zeros.
__global__ void __launch_bounds__(256)
    embed(const int* __restrict__ ids, const scalar_t* __restrict__ table, const scalar_t* __restrict__ positions,
          scalar_t* __restrict__ tokens, int t, int s, int v, int h) {
  const int vectors = h / 8, at = blockIdx.x * 256 + threadIdx.x, token = at / vectors, column = at % vectors * 8;
  if (token >= t) return;
  const int id = ids[token];
  Eight sum = ak::load<8>(positions + static_cast<long long>(token % s) * h + column);
  if (id >= 0 && id < v) {
    const Eight row = ak::load<8>(table + static_cast<long long>(id) * h + column);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sum.value[i] = static_cast<scalar_t>(static_cast<float>(sum.value[i]) + static_cast<float>(row.value[i]));
  }
  ak::store(tokens + static_cast<long long>(token) * h + column, sum);
}

// y = x W^T, perhaps gelu of it.
template <bool GELU>
__global__ void __launch_bounds__(Tile::kThreads)
    multiply(const scalar_t* __restrict__ x, const unsigned char* __restrict__ packed, scalar_t* __restrict__ y, int m,
             int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  if constexpr (GELU) {
    using Store = ak::StoreResults<scalar_t, ak::Apply<ak::gelu_to_16_bits>>;
    Tile::run<true>(memory, x, packed, m, n, k, ak::NoScales(), Store{y, n, {}});
  } else {
    using Store = ak::StoreResults<scalar_t, ak::AsItIs>;
    Tile::run<true>(memory, x, packed, m, n, k, ak::NoScales(), Store{y, n, {}});
  }
}

constexpr int LINE = D * 2, CHUNKS = LINE / 16;  // bytes of a query, and its 16-byte parts

// The first `count` of LINES lines of a head; zeros for the others.
template <int LINES>
__device__ __forceinline__ void fetch(u32 to, const scalar_t* from, int pitch, int count) {
  for (int i = threadIdx.x; i < LINES * CHUNKS; i += 128) {
    const int line = i / CHUNKS, chunk = i % CHUNKS;
    const bool inside = line < count;
    ak::copy_async(to + ak::swizzled<LINE>(line, chunk),
                   inside ? from + static_cast<long long>(line) * pitch + chunk * 8 : from, inside);
  }
}

using Scores = float[KEYS / 8][4];
using Results = float[D / 8][4];

__device__ __forceinline__ void multiply_keys(u32 queries, u32 keys, Scores& scores) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {
    u32 a[4];
    ak::load_matrices(a, queries + ak::swizzled<LINE>(warp * 16 + lane % 16, step * 2 + lane / 16));
#pragma unroll
    for (int n = 0; n < KEYS / 16; ++n) {
      u32 b[4];
      ak::load_matrices(b, keys + ak::swizzled<LINE>(n * 16 + lane % 8 + lane / 16 * 8, step * 2 + lane / 8 % 2));
      ak::mma<element>(scores[2 * n], a, b[0], b[1]);
      ak::mma<element>(scores[2 * n + 1], a, b[2], b[3]);
    }
  }
}

__device__ __forceinline__ void multiply_values(const Scores& p, u32 values, Results& results) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int step = 0; step < KEYS / 16; ++step) {
    u32 a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float* two = &p[2 * step + i / 2][i % 2 * 2];
      a[i] = ak::pack_pair<element>(two[0], two[1]);
    }
#pragma unroll
    for (int n = 0; n < D / 16; ++n) {
      u32 b[4];
      ak::load_matrices_transposed(b, values + ak::swizzled<LINE>(step * 16 + lane % 16, n * 2 + lane / 16));
      ak::mma<element>(results[2 * n], a, b[0], b[1]);
      ak::mma<element>(results[2 * n + 1], a, b[2], b[3]);
    }
  }
}

// Scores of keys from `count` on become nothing; then 2^(score - largest so far), and what was there before is scaled.
__device__ __forceinline__ void soften(Scores& scores, int count, float (&largest)[2], float (&sums)[2],
                                       Results& results) {
  const int lane = threadIdx.x % 32;
  const float scale = ak::kLog2E * rsqrtf(static_cast<float>(D));
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float most = largest[half];
#pragma unroll
    for (int n = 0; n < KEYS / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[n][half * 2 + e];
        score = n * 8 + lane % 4 * 2 + e < count ? score * scale : ak::minus_infinity();
        most = fmaxf(most, score);
      }
    }
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
    const float shrink = exp2f(largest[half] - most);  // 0 at first
    largest[half] = most;
    sums[half] *= shrink;
#pragma unroll
    for (int n = 0; n < D / 8; ++n) results[n][half * 2] *= shrink, results[n][half * 2 + 1] *= shrink;
#pragma unroll
    for (int n = 0; n < KEYS / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[n][half * 2 + e];
        score = exp2f(score - most);
        sums[half] += score;
      }
    }
  }
}

// Block (queries, head, sequence). projected: [sequence][token][q | k | v][head][D].
__global__ void __launch_bounds__(128)
    attend(const scalar_t* __restrict__ projected, const int* __restrict__ lengths, scalar_t* __restrict__ attended,
           int s, int h) {
  extern __shared__ __align__(1024) unsigned char memory[];
  constexpr int TILE = KEYS * LINE;
  const u32 queries = ak::shared_address(memory), ring = queries + 64 * LINE;
  const int first = blockIdx.x * 64, head = blockIdx.y, pitch = 3 * h;
  const long long sequence = blockIdx.z;
  const int n = min(max(lengths[sequence], 0), s), tiles = (n + KEYS - 1) / KEYS;
  const scalar_t* of_head = projected + sequence * s * pitch + head * D;
  const auto start = [&](int tile) {
    if (tile < tiles) {
      const u32 to = ring + tile % KEY_STAGES * 2 * TILE;
      const scalar_t* keys = of_head + static_cast<long long>(tile) * KEYS * pitch + h;
      fetch<KEYS>(to, keys, pitch, n - tile * KEYS);
      fetch<KEYS>(to + TILE, keys + h, pitch, n - tile * KEYS);
    }
    ak::commit_copies();
  };
  fetch<64>(queries, of_head + static_cast<long long>(first) * pitch, pitch, s - first);
  for (int tile = 0; tile < KEY_STAGES - 1; ++tile) start(tile);

  Results results = {};
  float largest[2] = {ak::minus_infinity(), ak::minus_infinity()}, sums[2] = {};
  for (int tile = 0; tile < tiles; ++tile) {
    ak::wait_copies<KEY_STAGES - 2>();
    __syncthreads();
    start(tile + KEY_STAGES - 1);
    const u32 keys = ring + tile % KEY_STAGES * 2 * TILE;
    Scores scores = {};
    multiply_keys(queries, keys, scores);
    soften(scores, n - tile * KEYS, largest, sums, results);
    multiply_values(scores, keys + TILE, results);
  }
  ak::wait_copies<0>();

  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = sums[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const float share = sum > 0.0f ? 1.0f / sum : 0.0f;
    const int query = first + static_cast<int>(threadIdx.x) / 32 * 16 + half * 8 + lane / 4;
    if (query >= s) continue;
    scalar_t* to = attended + (sequence * s + query) * h + head * D + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < D / 8; ++i)
      *reinterpret_cast<u32*>(to + i * 8) =
          ak::pack_pair<element>(results[i][half * 2] * share, results[i][half * 2 + 1] * share);
  }
}

// y[token] = norm(x[token] + more[token]) weight + bias. Rows of up to 4096 stay in registers.
__global__ void __launch_bounds__(NORM_THREADS)
    add_norm(const scalar_t* __restrict__ x, const scalar_t* __restrict__ more, const scalar_t* __restrict__ weight,
             const scalar_t* __restrict__ bias, scalar_t* __restrict__ y, int h) {
  constexpr int ITEMS = 4096 / 8 / NORM_THREADS;
  ak::Row<NORM_THREADS, 1, 8, ITEMS> row;
  const long long token = blockIdx.x;
  float values[ITEMS][8];
  float sum = 0.0f, squares = 0.0f;
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const int column = row.column(item);
    if (column >= h) continue;
    const Eight a = ak::load<8>(x + token * h + column), b = ak::load<8>(more + token * h + column);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      values[item][i] = static_cast<float>(a.value[i]) + static_cast<float>(b.value[i]);
      sum += values[item][i];
    }
  }
  const float mean = row.reduce(sum, ak::Sum()) / static_cast<float>(h);
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    if (row.column(item) >= h) continue;
#pragma unroll
    for (int i = 0; i < 8; ++i) squares += (values[item][i] - mean) * (values[item][i] - mean);
  }
  const float scale = rsqrtf(row.reduce(squares, ak::Sum()) / static_cast<float>(h) + 1e-5f);
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const int column = row.column(item);
    if (column >= h) continue;
    const Eight w = ak::load<8>(weight + column), b = ak::load<8>(bias + column);
    Eight result;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      result.value[i] = static_cast<scalar_t>((values[item][i] - mean) * scale * static_cast<float>(w.value[i]) +
                                              static_cast<float>(b.value[i]));
    ak::store(y + token * h + column, result);
  }
}

// The mean of a sequence's tokens, divided by its length. A warp has 256 neighbouring columns of every POOL_WARPS-th
// token.
__global__ void __launch_bounds__(POOL_WARPS * 32)
    pool(const scalar_t* __restrict__ tokens, const int* __restrict__ lengths, scalar_t* __restrict__ y, int s, int h) {
  extern __shared__ float means[];
  __shared__ float parts[POOL_WARPS][256], squares[POOL_WARPS];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const long long sequence = blockIdx.x;
  const int n = min(max(lengths[sequence], 0), s);
  const float share = 1.0f / static_cast<float>(max(n, 1));
  for (int tile = 0; tile < h; tile += 256) {
    const int column = tile + lane * 8;
    float sums[8] = {};
    for (int token = warp; token < n && column < h; token += POOL_WARPS) {
      const Eight row = ak::load<8>(tokens + (sequence * s + token) * h + column);
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[i] += static_cast<float>(row.value[i]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) parts[warp][lane * 8 + i] = sums[i];
    __syncthreads();
    for (int i = thread; i < 256 && tile + i < h; i += POOL_WARPS * 32) {
      float sum = 0.0f;
      for (int other = 0; other < POOL_WARPS; ++other) sum += parts[other][i];
      means[tile + i] = sum * share;
    }
    __syncthreads();
  }
  float square = 0.0f;
  for (int i = thread; i < h; i += POOL_WARPS * 32) square += means[i] * means[i];
  square = ak::reduce_lanes(square, ak::Sum());
  if (lane == 0) squares[warp] = square;
  __syncthreads();
  square = ak::reduce_lanes<POOL_WARPS>(squares[lane % POOL_WARPS], ak::Sum());
  const float scale = 1.0f / fmaxf(sqrtf(square), 1e-12f);
  for (int i = thread; i < h; i += POOL_WARPS * 32) y[sequence * h + i] = static_cast<scalar_t>(means[i] * scale);
}
