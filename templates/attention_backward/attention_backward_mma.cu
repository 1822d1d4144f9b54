/* alphakernel
{
  "tunables": {
    "KEYS": {"values": [32, 64, 128], "default": 32},
    "STEP_QUERIES": {"values": [16, 32, 64], "default": 32},
    "SPLIT": {"values": [1, 2], "default": 2},
    "QUERIES": {"values": [32, 64, 128], "default": 32},
    "STEP_KEYS": {"values": [16, 32, 64], "default": 32},
    "STAGES": {"values": [2, 3], "default": 2}
  },
  "constraints": [
    "ARCH >= 80",
    "D // SPLIT + STEP_QUERIES <= 192",
    "KEYS // 16 * SPLIT <= 16",
    "SHARED_KEYS <= SHARED_BYTES_PER_BLOCK",
    "SHARED_QUERIES <= SHARED_BYTES_PER_BLOCK"
  ],
  "let": {
    "SHARED_KEYS": "2 * (KEYS + STAGES * STEP_QUERIES) * D * 2 + STAGES * STEP_QUERIES * 8",
    "SHARED_QUERIES": "2 * (QUERIES + STAGES * STEP_KEYS) * D * 2"
  },
  "workspace": [{"name": "delta", "dtype": "float32", "count": "B * H * S"}],
  "launches": [
    {"kernel": "sum_rows", "grid": ["ceil_div(B * H * S, 4)"], "block": [128],
     "args": ["o", "dout", "delta", {"i32": "B * H * S"}]},
    {"kernel": "backward_of_keys", "grid": ["ceil_div(T, KEYS) * B * G"], "block": ["KEYS * 2 * SPLIT"],
     "shared_bytes": "SHARED_KEYS",
     "args": ["q", "k", "v", "lse", "dout", "delta", "dk", "dv", {"i32": "H // G"}, {"i32": "S"}, {"i32": "T"}]},
    {"kernel": "backward_of_queries", "grid": ["ceil_div(S, QUERIES) * B * H"], "block": ["QUERIES * 2"],
     "shared_bytes": "SHARED_QUERIES",
     "args": ["q", "k", "v", "lse", "dout", "delta", "dq", {"i32": "H // G"}, {"i32": "S"}, {"i32": "T"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of attention with the matrix units of Ampere and later, the same bytes every time: a launch has keys in its
// blocks and walks the queries for dk and dv, another has queries and walks the keys for dq. Both compute the scores.
//
//   p = exp(q k / sqrt(D) - lse)   delta = sum(o dout)   ds = p (dout v - delta)
//   of keys:     p^T, ds^T in registers  ->  dv += p^T dout, dk += ds^T q     over all heads that share the keys
//   of queries:  ds in registers         ->  dq += ds k
//
//   shared memory:  lines of the block, of two tensors | lines of a step, of two tensors | ... STAGES of these
//
// A warp has 16 lines of the block; the products with a step's lines are its sums and, rounded in place, the first
// operand of the products that follow. SPLIT warps have the same keys and a part of the columns of dk and dv each.
// Follows Dao, FlashAttention-2, arXiv:2307.08691.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/attention.cuh>
#include <ak/copies.cuh>
#include <ak/elements.cuh>
#include <ak/fragments.cuh>
#include <ak/functions.cuh>
#include <ak/mma.cuh>
#include <ak/reduce.cuh>
#include <ak/threads.cuh>

#ifndef ALPHAKERNEL
constexpr int KEYS = 64;
constexpr int STEP_QUERIES = 32;
constexpr int SPLIT = 2;
constexpr int QUERIES = 64;
constexpr int STEP_KEYS = 32;
constexpr int STAGES = 2;
constexpr int D = 128;
constexpr bool CAUSAL = false;
using scalar_t = __nv_bfloat16;
#endif

using ak::u32;
using element = ak::Element<scalar_t>;
using Seen = ak::SeenKeys<CAUSAL, 0>;

constexpr int LINE = D * 2;  // bytes

// ---- lines in shared memory: chunks of 16 bytes, exchanged among 8, so that any 8 neighbouring lines have the same
// chunk in different banks

__device__ __forceinline__ u32 place(int line, int chunk) { return line * LINE + (chunk ^ line % 8) * 16; }
// From chunk 0 or 1 to the chunk an even number further on.
__device__ __forceinline__ u32 across(u32 address, int chunks) {
  return (address ^ chunks % 8 * 16) + chunks / 8 * 128;
}

// Lines from `count` on are zero.
template <int LINES, int THREADS>
__device__ __forceinline__ void fetch(u32 to, const scalar_t* from, int count) {
#pragma unroll 4
  for (int i = threadIdx.x; i < LINES * (D / 8); i += THREADS) {
    const int line = i / (D / 8), chunk = i % (D / 8);
    const bool inside = line < count;
    ak::copy_async<16, 128>(to + place(line, chunk % 8) + chunk / 8 * 128,
                            inside ? from + line * D + chunk * 8 : from, inside);
  }
}
template <int COUNT, int THREADS>
__device__ __forceinline__ void fetch_numbers(u32 to, const float* from, int count) {
  for (int i = threadIdx.x; i < COUNT; i += THREADS) {
    ak::copy_async<4>(to + i * 4, i < count ? from + i : from, i < count);
  }
}

// ---- products of a warp. Sums: [0], [1] are neighbouring columns of line lane / 4, [2], [3] those 8 lines below.

// 16 lines of the block times the lines of a step, along D. lines: of the warp.
template <int COLUMNS>
__device__ __forceinline__ void multiply(u32 lines, u32 step, float (&sums)[COLUMNS / 8][4]) {
  const int lane = threadIdx.x % 32;
  const u32 a_at = lines + place(lane % 16, lane / 16), b_at = step + place(lane % 8 + lane / 16 * 8, lane / 8 % 2);
#pragma unroll
  for (int n = 0; n < COLUMNS / 8; ++n) sums[n][0] = sums[n][1] = sums[n][2] = sums[n][3] = 0.0f;
#pragma unroll
  for (int d = 0; d < D / 16; ++d) {
    u32 a[4];
    ak::load_matrices(a, across(a_at, d * 2));
#pragma unroll
    for (int n = 0; n < COLUMNS / 16; ++n) {
      u32 b[4];
      ak::load_matrices(b, across(b_at, d * 2) + n * 16 * LINE);
      ak::mma<element>(sums[2 * n], a, b[0], b[1]);
      ak::mma<element>(sums[2 * n + 1], a, b[2], b[3]);
    }
  }
}

// Adds 16 lines of factors, rounded, times the lines of a step, of which `WIDTH` columns from first_column on.
template <int COUNT, int WIDTH>
__device__ __forceinline__ void accumulate(const float (&factors)[COUNT / 8][4], u32 step, int first_column,
                                           float (&sums)[WIDTH / 8][4]) {
  const int lane = threadIdx.x % 32;
  const u32 b_at = step + place(lane % 16, lane / 16);
#pragma unroll
  for (int i = 0; i < COUNT / 16; ++i) {
    u32 a[4];
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      const float* two = &factors[2 * i + part / 2][part % 2 * 2];
      a[part] = ak::pack_pair<element>(two[0], two[1]);
    }
#pragma unroll
    for (int n = 0; n < WIDTH / 16; ++n) {
      u32 b[4];
      ak::load_matrices_transposed(b, across(b_at, first_column / 8 + n * 2) + i * 16 * LINE);
      ak::mma<element>(sums[2 * n], a, b[0], b[1]);
      ak::mma<element>(sums[2 * n + 1], a, b[2], b[3]);
    }
  }
}

// Writes 16 lines of results times `scale`, of which there are `count`.
template <int WIDTH>
__device__ __forceinline__ void write(scalar_t* to, const float (&sums)[WIDTH / 8][4], float scale, int count) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int line = lane / 4 + half * 8;
    if (line >= count) continue;
#pragma unroll
    for (int n = 0; n < WIDTH / 8; ++n) {
      *reinterpret_cast<u32*>(to + line * D + n * 8 + lane % 4 * 2) =
          ak::pack_pair<element>(sums[n][half * 2] * scale, sums[n][half * 2 + 1] * scale);
    }
  }
}

// The weight of a product q k, which becomes dout v - delta times it.
struct Gradient {
  float weight, of_score;
  __device__ __forceinline__ Gradient(float product, float exponent, float value_product, float delta, bool seen) {
    weight = seen ? ak::fast_exp2(fmaf(product, ak::ScoreExponents<D, 0, false>::scale(), -exponent)) : 0.0f;
    of_score = weight * (value_product - delta);
  }
};

// ---- delta: a warp a line

__global__ void __launch_bounds__(128)
    sum_rows(const scalar_t* __restrict__ o, const scalar_t* __restrict__ dout, float* __restrict__ delta, int lines) {
  const int line = blockIdx.x * 4 + threadIdx.x / 32;
  if (line >= lines) return;
  const long long at = static_cast<long long>(line) * D;
  float sum = 0.0f;
#pragma unroll
  for (int i = threadIdx.x % 32 * 2; i < D; i += 64) {
    const float2 a = ak::unpack_pair<element>(*reinterpret_cast<const u32*>(o + at + i));
    const float2 b = ak::unpack_pair<element>(*reinterpret_cast<const u32*>(dout + at + i));
    sum = fmaf(a.x, b.x, fmaf(a.y, b.y, sum));
  }
  sum = ak::reduce_lanes(sum, ak::Sum());
  if (threadIdx.x % 32 == 0) delta[line] = sum;
}

// ---- dk and dv. q, dout: [key heads][share][queries][D]; k, v, dk, dv: [key heads][keys][D].

__global__ void __launch_bounds__(KEYS * 2 * SPLIT)
    backward_of_keys(const scalar_t* __restrict__ q, const scalar_t* __restrict__ k, const scalar_t* __restrict__ v,
                     const float* __restrict__ lse, const scalar_t* __restrict__ dout, const float* __restrict__ delta,
                     scalar_t* __restrict__ dk, scalar_t* __restrict__ dv, int share, int queries, int keys) {
  constexpr int THREADS = KEYS * 2 * SPLIT, WIDTH = D / SPLIT;
  constexpr int TILE = STEP_QUERIES * LINE, STAGE = 2 * TILE + STEP_QUERIES * 8;
  extern __shared__ __align__(128) unsigned char memory[];
  const u32 shared = ak::shared_address(memory), stages = shared + 2 * KEYS * LINE;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, own = warp / SPLIT * 16, column = warp % SPLIT * WIDTH;
  // The first keys, which most queries see, begin.
  const int heads = gridDim.x / ((keys + KEYS - 1) / KEYS), head = blockIdx.x % heads;
  const int first = blockIdx.x / heads * KEYS;
  const Seen seen{queries, keys};
  const int first_tile = (CAUSAL ? max(first - seen.position(0), 0) : 0) / STEP_QUERIES;
  const int tiles = max((queries + STEP_QUERIES - 1) / STEP_QUERIES - first_tile, 0), steps = tiles * share;
  const long long keys_at = (static_cast<long long>(head) * keys + first) * D;

  const auto query_of = [&](int step) { return (first_tile + step % tiles) * STEP_QUERIES; };
  const auto start = [&](int step) {
    if (step < steps) {
      const int query = query_of(step), count = queries - query;
      const long long line = (static_cast<long long>(head) * share + step / tiles) * queries + query;
      const u32 to = stages + step % STAGES * STAGE;
      fetch<STEP_QUERIES, THREADS>(to, q + line * D, count);
      fetch<STEP_QUERIES, THREADS>(to + TILE, dout + line * D, count);
      fetch_numbers<STEP_QUERIES, THREADS>(to + 2 * TILE, lse + line, count);
      fetch_numbers<STEP_QUERIES, THREADS>(to + 2 * TILE + STEP_QUERIES * 4, delta + line, count);
    }
    ak::commit_copies();
  };
  fetch<KEYS, THREADS>(shared, k + keys_at, keys - first);
  fetch<KEYS, THREADS>(shared + KEYS * LINE, v + keys_at, keys - first);
  for (int step = 0; step < STAGES - 1; ++step) start(step);

  float dk_sums[WIDTH / 8][4] = {}, dv_sums[WIDTH / 8][4] = {};
  for (int step = 0; step < steps; ++step) {
    ak::wait_copies<STAGES - 2>();
    __syncthreads();
    start(step + STAGES - 1);
    const int stage = step % STAGES * STAGE, query = query_of(step);
    const u32 q_tile = stages + stage, dout_tile = q_tile + TILE;
    const float* numbers = reinterpret_cast<const float*>(memory + 2 * KEYS * LINE + stage + 2 * TILE);
    float weights[STEP_QUERIES / 8][4], gradients[STEP_QUERIES / 8][4];
    multiply<STEP_QUERIES>(shared + own * LINE, q_tile, weights);
    multiply<STEP_QUERIES>(shared + (KEYS + own) * LINE, dout_tile, gradients);
    const bool masked = seen.masked(query, query, first, KEYS);
#pragma unroll
    for (int n = 0; n < STEP_QUERIES / 8; ++n) {
      const float2 lses = *reinterpret_cast<const float2*>(numbers + n * 8 + lane % 4 * 2);
      const float2 deltas = *reinterpret_cast<const float2*>(numbers + STEP_QUERIES + n * 8 + lane % 4 * 2);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int key = first + own + lane / 4 + i / 2 * 8, at = query + n * 8 + lane % 4 * 2 + i % 2;
        const Gradient gradient(weights[n][i], (i % 2 == 0 ? lses.x : lses.y) * ak::kLog2E, gradients[n][i],
                                i % 2 == 0 ? deltas.x : deltas.y, !masked || key < seen.end(at));
        weights[n][i] = gradient.weight;
        gradients[n][i] = gradient.of_score;
      }
    }
    accumulate<STEP_QUERIES, WIDTH>(weights, dout_tile, column, dv_sums);
    accumulate<STEP_QUERIES, WIDTH>(gradients, q_tile, column, dk_sums);
  }
  ak::wait_copies<0>();
  const long long to = keys_at + own * D + column;
  write<WIDTH>(dk + to, dk_sums, rsqrtf(static_cast<float>(D)), keys - first - own);
  write<WIDTH>(dv + to, dv_sums, 1.0f, keys - first - own);
}

// ---- dq. q, dout, dq: [heads][queries][D]; k, v: [heads / share][keys][D].

__global__ void __launch_bounds__(QUERIES * 2)
    backward_of_queries(const scalar_t* __restrict__ q, const scalar_t* __restrict__ k, const scalar_t* __restrict__ v,
                        const float* __restrict__ lse, const scalar_t* __restrict__ dout,
                        const float* __restrict__ delta, scalar_t* __restrict__ dq, int share, int queries, int keys) {
  constexpr int THREADS = QUERIES * 2, TILE = STEP_KEYS * LINE, STAGE = 2 * TILE;
  extern __shared__ __align__(128) unsigned char memory[];
  const u32 shared = ak::shared_address(memory), stages = shared + 2 * QUERIES * LINE;
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * 16;
  // The last queries, which see the most keys, begin.
  const int tiles = (queries + QUERIES - 1) / QUERIES, heads = gridDim.x / tiles, head = blockIdx.x % heads;
  const int first = (tiles - 1 - blockIdx.x / heads) * QUERIES;
  const Seen seen{queries, keys};
  const ak::KeyTiles key_tiles = seen.tiles<STEP_KEYS>(first, first + QUERIES - 1);
  const long long keys_at = static_cast<long long>(head / share) * keys * D;
  const long long line = static_cast<long long>(head) * queries + first;

  const auto start = [&](int step) {
    if (step < key_tiles.end) {
      const u32 to = stages + step % STAGES * STAGE;
      const long long at = keys_at + static_cast<long long>(step) * STEP_KEYS * D;
      fetch<STEP_KEYS, THREADS>(to, k + at, keys - step * STEP_KEYS);
      fetch<STEP_KEYS, THREADS>(to + TILE, v + at, keys - step * STEP_KEYS);
    }
    ak::commit_copies();
  };
  fetch<QUERIES, THREADS>(shared, q + line * D, queries - first);
  fetch<QUERIES, THREADS>(shared + QUERIES * LINE, dout + line * D, queries - first);
  for (int step = 0; step < STAGES - 1; ++step) start(step);

  float exponents[2], deltas[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int at = own + lane / 4 + half * 8;
    const bool inside = first + at < queries;
    exponents[half] = inside ? lse[line + at] * ak::kLog2E : 0.0f;
    deltas[half] = inside ? delta[line + at] : 0.0f;
  }
  float sums[D / 8][4] = {};
  for (int step = 0; step < key_tiles.end; ++step) {
    ak::wait_copies<STAGES - 2>();
    __syncthreads();
    start(step + STAGES - 1);
    const u32 k_tile = stages + step % STAGES * STAGE, v_tile = k_tile + TILE;
    float products[STEP_KEYS / 8][4], gradients[STEP_KEYS / 8][4];
    multiply<STEP_KEYS>(shared + own * LINE, k_tile, products);
    multiply<STEP_KEYS>(shared + (QUERIES + own) * LINE, v_tile, gradients);
    const bool masked = seen.masked(first, first, step * STEP_KEYS, STEP_KEYS);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int end = seen.end(first + own + lane / 4 + half * 8) - step * STEP_KEYS - lane % 4 * 2;
#pragma unroll
      for (int n = 0; n < STEP_KEYS / 8; ++n) {
#pragma unroll
        for (int i = half * 2; i < half * 2 + 2; ++i) {
          const bool seen_key = !masked || n * 8 + i % 2 < end;
          gradients[n][i] =
              Gradient(products[n][i], exponents[half], gradients[n][i], deltas[half], seen_key).of_score;
        }
      }
    }
    accumulate<STEP_KEYS, D>(gradients, k_tile, 0, sums);
  }
  ak::wait_copies<0>();
  write<D>(dq + (line + own) * D, sums, rsqrtf(static_cast<float>(D)), queries - first - own);
}
