/* alphakernel
{
  "tunables": {
    "LANES": {"values": [8, 16, 32, 64], "default": 16},
    "THREADS": {"values": [128, 256, 512], "default": 256},
    "ITEMS": {"values": [2, 4, 8], "default": 8},
    "CHUNK": {"values": [64, 128, 256, 512, 1024], "default": 256},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "let": {
    "VEC": "16 // sizeof_x if H * sizeof_x % 16 == 0 else 1",
    "TILES": "ceil_div(H, LANES * VEC)",
    "CHUNKS": "ceil_div(S, CHUNK)"
  },
  "workspace": [
    {"name": "parts", "dtype": "float32", "count": "B * CHUNKS * H if CHUNKS > 1 else 0"},
    {"name": "sums", "dtype": "float32", "count": "B * H if TILES > 1 else 0"},
    {"name": "of_tiles", "dtype": "uint32", "count": "B * TILES if CHUNKS > 1 else 0", "init": "zero"},
    {"name": "of_sequences", "dtype": "uint32", "count": "B if TILES > 1 else 0", "init": "zero"}
  ],
  "launches": [
    {"kernel": "pool<16 / sizeof(scalar_t)>", "grid": ["TILES * CHUNKS", "B"], "block": ["THREADS"], "when": "VEC > 1",
     "args": ["x", "lengths", "y", "parts", "sums", "of_tiles", "of_sequences", {"i32": "S"}, {"i32": "H"}, {"i32": "TILES"}, {"i32": "CHUNKS"}]},
    {"kernel": "pool<1>", "grid": ["TILES * CHUNKS", "B"], "block": ["THREADS"], "when": "VEC == 1",
     "args": ["x", "lengths", "y", "parts", "sums", "of_tiles", "of_sequences", {"i32": "S"}, {"i32": "H"}, {"i32": "TILES"}, {"i32": "CHUNKS"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The mean over the tokens of a sequence, and its norm. A block has a tile of LANES packs of columns and a chunk of CHUNK
// tokens, so that blocks are many and alike however long sequences are; those past a sequence's end have nothing to do. A
// thread adds tokens in registers, ITEMS loads of 16 bytes under way; the lines of a block meet once, in shared memory. Of
// several chunks the block that arrives last adds them up in their order, of several tiles the last one takes the norm
// over all columns and writes.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/reduce.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int LANES = 16;
constexpr int THREADS = 256;
constexpr int ITEMS = 8;
constexpr int CHUNK = 256;
constexpr int CACHE = 1;
using scalar_t = float;
#endif

constexpr int LINES = THREADS / LANES;  // tokens at a time

// CACHE 1: evict-first hints, as tokens are read once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

// Adds VEC columns of this thread's tokens in [begin, end).
template <int VEC>
__device__ __forceinline__ void add_tokens(const scalar_t* x, int begin, int end, int h, float (&sums)[VEC]) {
  for (int token = begin + static_cast<int>(threadIdx.x) / LANES; token < end; token += LINES * ITEMS) {
    ak::Pack<scalar_t, VEC> packs[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      const int t = token + k * LINES;
      if (t < end) packs[k] = ak::load<VEC, HINT>(x + static_cast<long long>(t) * h);
    }
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (token + k * LINES >= end) continue;
#pragma unroll
      for (int i = 0; i < VEC; ++i) sums[i] += static_cast<float>(packs[k].value[i]);
    }
  }
}

// True in every thread of the block that arrives last of `count`; what the others wrote before is visible to it, past L1.
__device__ __forceinline__ bool is_last_of(unsigned int* arrived, int count) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();  // this block's results before its arrival
    last = atomicAdd(arrived, 1u) == static_cast<unsigned int>(count) - 1;
    __threadfence();  // all arrivals before the reads that follow
  }
  __syncthreads();
  return last;
}

// y = sums / norm of sums, times what the mean of n tokens is of them: h columns, read by sum_at(column) twice.
template <class SumAt>
__device__ __forceinline__ void write_scaled(SumAt sum_at, scalar_t* y, int n, int h) {
  const int thread = static_cast<int>(threadIdx.x);
  __shared__ float squares[THREADS / 32];
  const float share = 1.0f / static_cast<float>(max(n, 1));
  float square = 0.0f;
  for (int i = thread; i < h; i += THREADS) {
    const float mean = sum_at(i) * share;
    square += mean * mean;
  }
  square = ak::reduce_lanes(square, ak::Sum());
  if (thread % 32 == 0) squares[thread / 32] = square;
  __syncthreads();
  square = ak::reduce_lanes<THREADS / 32>(squares[thread % (THREADS / 32)], ak::Sum());
  const float scale = share / fmaxf(sqrtf(square), 1e-12f);
  for (int i = thread; i < h; i += THREADS) y[i] = static_cast<scalar_t>(sum_at(i) * scale);
}

// Block (chunk and tile, b). parts: room for chunks x h floats a sequence; sums: for h; of_tiles, of_sequences: arrivals,
// zero at the start.
template <int VEC>
__global__ void __launch_bounds__(THREADS)
    pool(const scalar_t* __restrict__ x, const int* __restrict__ lengths, scalar_t* __restrict__ y, float* parts,
         float* sums, unsigned int* of_tiles, unsigned int* of_sequences, int s, int h, int tiles, int chunks) {
  constexpr int kWidth = LANES * VEC;
  __shared__ float lines[LINES][kWidth + 1];
  __shared__ float of_tile[kWidth];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % LANES, line = thread / LANES;
  const int chunk = static_cast<int>(blockIdx.x) / tiles, tile = static_cast<int>(blockIdx.x) % tiles;
  const long long b = blockIdx.y;
  const int n = min(max(lengths[b], 0), s), used = max((n + CHUNK - 1) / CHUNK, 1);
  if (chunk >= used) return;

  const int first = tile * kWidth, columns = min(kWidth, h - first);
  float own[VEC] = {};
  if (lane * VEC < columns) {
    add_tokens<VEC>(x + b * s * h + first + lane * VEC, chunk * CHUNK, min((chunk + 1) * CHUNK, n), h, own);
  }
#pragma unroll
  for (int i = 0; i < VEC; ++i) lines[line][lane * VEC + i] = own[i];
  __syncthreads();
  for (int i = thread; i < columns; i += THREADS) {
    float sum = 0.0f;
#pragma unroll
    for (int other = 0; other < LINES; ++other) sum += lines[other][i];
    of_tile[i] = sum;
    if (used > 1) parts[(b * chunks + chunk) * h + first + i] = sum;
  }

  if (used > 1) {
    if (!is_last_of(of_tiles + b * tiles + tile, used)) return;
    for (int i = thread; i < columns; i += THREADS) {
      const float* all = parts + b * chunks * h + first + i;
      float sum = 0.0f;
#pragma unroll 8
      for (int other = 0; other < used; ++other) sum += __ldcg(all + static_cast<long long>(other) * h);
      of_tile[i] = sum;
    }
  }
  if (tiles == 1) {
    __syncthreads();
    write_scaled([&](int i) { return of_tile[i]; }, y + b * h, n, h);
    return;
  }
  float* of_sequence = sums + b * h;
  for (int i = thread; i < columns; i += THREADS) of_sequence[first + i] = of_tile[i];  // a thread's own
  if (!is_last_of(of_sequences + b, tiles)) return;
  write_scaled([&](int i) { return __ldcg(of_sequence + i); }, y + b * h, n, h);
}
