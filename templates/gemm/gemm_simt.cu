/* alphakernel
{
  "tunables": {
    "BM": {"values": [32, 64, 128], "default": 128},
    "BN": {"values": [32, 64, 128], "default": 128},
    "BK": {"values": [8, 16, 32], "default": 8},
    "TM": {"values": [4, 8], "default": 8},
    "TN": {"values": [4, 8], "default": 8},
    "GROUP": {"values": [1, 8], "default": 8}
  },
  "constraints": [
    "dtype == 'float32' and precision == 'ieee'",
    "BM * BN // (TM * TN) in [64, 128, 256]",
    "BM * BK % (BM * BN // (TM * TN) * 4) == 0 and BN * BK % (BM * BN // (TM * TN) * 4) == 0",
    "(BM + BN + 8) * BK * 8 <= 49152"
  ],
  "let": {
    "A_LINE": "K if a_layout == 'row' else M",
    "B_LINE": "N if b_layout == 'row' else K",
    "WIDE": "A_LINE % 4 == 0 and B_LINE % 4 == 0 and N % 4 == 0",
    "TILES": "ceil_div(M, BM) * ceil_div(N, BN)",
    "THREADS": "BM * BN // (TM * TN)"
  },
  "launches": [
    {"kernel": "gemm_simt", "grid": ["TILES"], "block": ["THREADS"],
     "args": ["a", "b", {"optional": "bias"}, "c", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}], "when": "WIDE"},
    {"kernel": "gemm_simt_any", "grid": ["TILES"], "block": ["THREADS"],
     "args": ["a", "b", {"optional": "bias"}, "c", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "not WIDE"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// c = activation(a b + bias) in float32 proper, with fused multiply-adds. A block makes a tile of BM x BN, a thread
// TM x TN of it, in registers. Slices of a and b, BK deep, lie in shared memory line by line of k, so that a thread
// reads its part of a line as vectors of 4; an operand whose lines run along k is transposed on the way in. The next
// slice waits in registers while the current one is multiplied: there are two buffers and one barrier a slice.
//
//   the rows of a thread: 4 of every BM / (TM / 4) of the tile, so that the vectors of neighbours touch; columns alike
//
// WIDE: all lines are multiples of 4 elements. Other shapes are read and written element by element.
#include <ak/functions.cuh>
#include <ak/tiles.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 8;
constexpr int TM = 8;
constexpr int TN = 8;
constexpr int GROUP = 8;
using scalar_t = float;
#endif

// Operands that lie across k in memory: a by columns, b by rows.
#ifdef AK_A_LAYOUT_COLUMN
constexpr bool A_ACROSS = true;
#else
constexpr bool A_ACROSS = false;
#endif
#ifdef AK_B_LAYOUT_COLUMN
constexpr bool B_ACROSS = false;
#else
constexpr bool B_ACROSS = true;
#endif

constexpr int ACROSS_THREADS = BN / TN;
constexpr int THREADS = BM / TM * ACROSS_THREADS;

// One operand: LINES rows of a or columns of b.
template <int LINES, bool ACROSS>
struct Operand {
  static constexpr int kPitch = LINES + 4;  // transposed stores of a warp then meet different banks, but for pairs
  static constexpr int kCopies = LINES * BK / 4 / THREADS;
  static_assert(kCopies * THREADS * 4 == LINES * BK);
  using Slice = float[BK][kPitch];
  float4 held[kCopies];

  template <bool WIDE>
  __device__ __forceinline__ void fetch(const scalar_t* matrix, int pitch, int first, int lines, int k, int end) {
    constexpr int kVectors = (ACROSS ? LINES : BK) / 4;  // of a line in global memory
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int index = i * THREADS + threadIdx.x;
      const int x = (ACROSS ? first : k) + index % kVectors * 4, y = (ACROSS ? k : first) + index / kVectors;
      const int width = ACROSS ? lines : end, height = ACROSS ? end : lines;
      const scalar_t* from = matrix + (static_cast<long long>(y) * pitch + x);
      float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if constexpr (WIDE) {
        if (x < width && y < height) v = *reinterpret_cast<const float4*>(from);
      } else if (y < height) {
        if (x < width) v.x = from[0];
        if (x + 1 < width) v.y = from[1];
        if (x + 2 < width) v.z = from[2];
        if (x + 3 < width) v.w = from[3];
      }
      held[i] = v;
    }
  }

  __device__ __forceinline__ void store(Slice& slice) const {
    constexpr int kVectors = (ACROSS ? LINES : BK) / 4;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int index = i * THREADS + threadIdx.x, x = index % kVectors * 4, y = index / kVectors;
      if constexpr (ACROSS) {
        *reinterpret_cast<float4*>(&slice[y][x]) = held[i];
      } else {
        slice[x][y] = held[i].x;
        slice[x + 1][y] = held[i].y;
        slice[x + 2][y] = held[i].z;
        slice[x + 3][y] = held[i].w;
      }
    }
  }

  // The COUNT elements of line k that belong to the thread's place among its neighbours.
  template <int COUNT>
  static __device__ __forceinline__ void load(float (&to)[COUNT], const Slice& slice, int k, int place) {
#pragma unroll
    for (int part = 0; part < COUNT / 4; ++part) {
      const float4 v = *reinterpret_cast<const float4*>(&slice[k][part * (LINES / (COUNT / 4)) + place * 4]);
      to[part * 4] = v.x;
      to[part * 4 + 1] = v.y;
      to[part * 4 + 2] = v.z;
      to[part * 4 + 3] = v.w;
    }
  }
};
using A = Operand<BM, A_ACROSS>;
using B = Operand<BN, B_ACROSS>;

__device__ __forceinline__ float finish(float sum, const scalar_t* bias, int column) {
#if AK_BIAS
  sum += bias[column];
#endif
#if defined(AK_ACTIVATION_RELU)
  return ak::relu(sum);
#elif defined(AK_ACTIVATION_GELU)
  return ak::gelu(sum);
#elif defined(AK_ACTIVATION_SILU)
  return sum / (1.0f + expf(-sum));
#else
  return sum;
#endif
}

// Tiles are taken in groups of GROUP rows of tiles, column by column, so that blocks at work share operands in L2.
__device__ __forceinline__ void place_tile(int m, int n, int& row, int& column) {
  const int down = (m + BM - 1) / BM, across = (n + BN - 1) / BN;
  const ak::TilePlace at = ak::grouped_place<GROUP>(blockIdx.x, down, across);
  row = at.row * BM;
  column = at.column * BN;
}

template <bool WIDE>
__device__ __forceinline__ void write_vector(scalar_t* c, const float* sums, const scalar_t* bias, int column, int n) {
  float values[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) values[e] = finish(sums[e], bias, min(column + e, n - 1));
  if constexpr (WIDE) {
    if (column < n) *reinterpret_cast<float4*>(c) = make_float4(values[0], values[1], values[2], values[3]);
  } else {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (column + e < n) c[e] = values[e];
    }
  }
}

template <bool WIDE>
__device__ __forceinline__ void make_tile(const scalar_t* a, const scalar_t* b, const scalar_t* bias, scalar_t* c,
                                          int m, int n, int k) {
  __shared__ __align__(16) A::Slice slices_a[2];
  __shared__ __align__(16) B::Slice slices_b[2];
  int row, column;
  place_tile(m, n, row, column);
  const int a_pitch = A_ACROSS ? m : k, b_pitch = B_ACROSS ? n : k;
  const int down = threadIdx.x / ACROSS_THREADS, across = threadIdx.x % ACROSS_THREADS;
  A next_a;
  B next_b;
  const auto fetch = [&](int at) {
    next_a.template fetch<WIDE>(a, a_pitch, row, m, at, k);
    next_b.template fetch<WIDE>(b, b_pitch, column, n, at, k);
  };
  float sums[TM][TN] = {};
  fetch(0);
  int turn = 0;
  for (int at = 0; at < k; at += BK, turn ^= 1) {
    next_a.store(slices_a[turn]);
    next_b.store(slices_b[turn]);
    __syncthreads();
    fetch(at + BK);
#pragma unroll
    for (int kk = 0; kk < BK; ++kk) {
      float x[TM], y[TN];
      A::load(x, slices_a[turn], kk, down);
      B::load(y, slices_b[turn], kk, across);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) sums[i][j] = fmaf(x[i], y[j], sums[i][j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int to = row + i / 4 * (BM / (TM / 4)) + down * 4 + i % 4;
    if (to >= m) continue;
#pragma unroll
    for (int part = 0; part < TN / 4; ++part) {
      const int at = column + part * (BN / (TN / 4)) + across * 4;
      write_vector<WIDE>(c + static_cast<long long>(to) * n + at, &sums[i][part * 4], bias, at, n);
    }
  }
}

// a: m x k, b: k x n, c: m x n, in the layouts of the problem.
__global__ void __launch_bounds__(THREADS, 512 / THREADS)
    gemm_simt(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const scalar_t* __restrict__ bias,
              scalar_t* __restrict__ c, int m, int n, int k) {
  make_tile<true>(a, b, bias, c, m, n, k);
}

__global__ void __launch_bounds__(THREADS, 512 / THREADS)
    gemm_simt_any(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const scalar_t* __restrict__ bias,
                  scalar_t* __restrict__ c, int m, int n, int k) {
  make_tile<false>(a, b, bias, c, m, n, k);
}
