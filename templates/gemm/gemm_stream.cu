/* alphakernel
{
  "tunables": {
    "ROWS": {"values": [1, 2, 4, 8], "default": 1},
    "LINES": {"values": [2, 4, 8], "default": 8},
    "LANES": {"values": [4, 8, 16, 32], "default": 8},
    "THREADS": {"values": [64, 128, 256, 512], "default": 512},
    "SPLIT_K": {"values": [1, 2, 4, 8], "default": 1}
  },
  "starts": [
    {"LINES": 4}
  ],
  "constraints": [
    "ARCH >= 80",
    "dtype in ['float16', 'bfloat16', 'float32', 'int8']",
    "batch == 'none' and residual == 'none' and scales == 'none' and gate == 'none' and dropout == 'none'",
    "store == 'same' and activation != 'gelu_tanh'",
    "b_layout == 'row' or LANES == 8",
    "THREADS * (1 if ROWS <= 2 else ROWS // 2) <= 1024",
    "dtype != 'int8' or LINES >= 4 and ROWS <= (4 if a_layout == 'row' else 2)",
    "THREADS // 32 * ROWS * (LANES * 16 // sizeof_b if b_layout == 'row' else LINES) * 4 <= 49152"
  ],
  "let": {
    "LINE": "(N if b_layout == 'row' else K) * sizeof_b",
    "WIDE": "LINE % 16 == 0",
    "A_ALONG": "a_layout == 'row' or M == 1",
    "A_WIDE": "A_ALONG and (K % LINES if b_layout == 'row' else K * sizeof_a % 16) == 0",
    "WORDS": "LINE % 4 == 0 and not WIDE",
    "BYTES": "16 if WIDE else (4 if WORDS else sizeof_b)",
    "COLUMNS": "LANES * (BYTES // sizeof_b) if b_layout == 'row' else LINES",
    "A_LINE": "K if a_layout == 'row' else 1",
    "A_STEP": "1 if A_ALONG else M",
    "BLOCKS": "ceil_div(N, COLUMNS) * ceil_div(M, ROWS) * SPLIT_K",
    "WAVES": "ceil_div(BLOCKS, SM_COUNT * (2048 // THREADS))",
    "STEPS": "ceil_div(K * LANES, SPLIT_K * THREADS)"
  },
  "time_terms": ["1", "WAVES", "WAVES * STEPS", "BLOCKS * STEPS", "(M * K + K * N + M * N) * sizeof_b // 1024"],
  "workspace": [{"name": "partial", "dtype": "float32", "count": "SPLIT_K * M * N if SPLIT_K > 1 else 0"}],
  "launches": [
    {"kernel": "gemm_stream<16, true>", "grid": ["ceil_div(N, COLUMNS)", "ceil_div(M, ROWS)", "SPLIT_K"],
     "block": ["THREADS"],
     "args": ["a", "b", {"optional": "bias"}, "c", "partial", {"i32": "M"}, {"i32": "N"}, {"i32": "K"},
              {"i32": "A_LINE"}, {"i32": "A_STEP"}],
     "when": "WIDE and A_WIDE"},
    {"kernel": "gemm_stream<16, false>", "grid": ["ceil_div(N, COLUMNS)", "ceil_div(M, ROWS)", "SPLIT_K"],
     "block": ["THREADS"],
     "args": ["a", "b", {"optional": "bias"}, "c", "partial", {"i32": "M"}, {"i32": "N"}, {"i32": "K"},
              {"i32": "A_LINE"}, {"i32": "A_STEP"}],
     "when": "WIDE and not A_WIDE"},
    {"kernel": "gemm_stream<4, false>", "grid": ["ceil_div(N, COLUMNS)", "ceil_div(M, ROWS)", "SPLIT_K"],
     "block": ["THREADS"],
     "args": ["a", "b", {"optional": "bias"}, "c", "partial", {"i32": "M"}, {"i32": "N"}, {"i32": "K"},
              {"i32": "A_LINE"}, {"i32": "A_STEP"}],
     "when": "WORDS"},
    {"kernel": "gemm_stream<sizeof(scalar_t), false>",
     "grid": ["ceil_div(N, COLUMNS)", "ceil_div(M, ROWS)", "SPLIT_K"], "block": ["THREADS"],
     "args": ["a", "b", {"optional": "bias"}, "c", "partial", {"i32": "M"}, {"i32": "N"}, {"i32": "K"},
              {"i32": "A_LINE"}, {"i32": "A_STEP"}],
     "when": "not WIDE and not WORDS"},
    {"kernel": "gemm_add_up", "grid": ["ceil_div(M * N, 256)"], "block": [256],
     "args": ["partial", {"optional": "bias"}, "c", {"i64": "M * N"}, {"i32": "N"}], "when": "SPLIT_K > 1"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// c = activation(a b + bias) for one to eight rows of a, where the time is that of reading b once. No shared memory and
// no matrix units on the way: a thread reads LINES lines of b at a time, 16 bytes of each, in the order of memory, and
// multiplies them with what ROWS rows of a have there, which all blocks share and the caches keep. Sums are in fp32 (of
// bytes: 32-bit integers).
//
//   b by columns (lines along k): a block makes LINES columns; its threads lie along k, 16 bytes each
//   b by rows (lines across k):   LANES threads lie along a line; the others take the next LINES lines of k
//
// Little's law: 4.8 TB/s for a microsecond are 36 KiB under way in each of 132 SMs. A thread has LINES * 16 bytes under
// way, 128 with 8 lines, so that 288 threads an SM would do; more hide the arithmetic, and the ends of blocks.
//
// Sums of threads meet over shuffles, then in shared memory, warp by warp in order. SPLIT_K > 1: as many blocks share k;
// their sums go to the workspace, and a second launch adds them up in order.
// Lines that are no multiple of 16 bytes are read in words of 4 bytes, or element by element: neighbouring threads still
// read neighbouring ones.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/functions.cuh>
#include <ak/reduce.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int ROWS = 1;
constexpr int LINES = 8;
constexpr int LANES = 8;
constexpr int THREADS = 512;
constexpr int SPLIT_K = 1;
using scalar_t = __nv_bfloat16;
#define AK_DTYPE_BFLOAT16 1
#endif

#ifdef AK_DTYPE_INT8
using sum_t = int;
using result_t = int;
#else
using sum_t = float;
using result_t = scalar_t;
#endif

#ifdef AK_B_LAYOUT_COLUMN
constexpr bool ACROSS = false;
#else
constexpr bool ACROSS = true;
#endif

constexpr int SIZE = sizeof(scalar_t);
constexpr int ALONG_N = ACROSS ? LANES : 1;  // neighbouring threads along n; the others lie along k
constexpr int GROUPS = THREADS / ALONG_N;
constexpr int WARPS = THREADS / 32;
// Threads that an SM should hold: as few registers each as the sums of ROWS rows need.
constexpr int RESIDENT = ROWS <= 2 ? 1024 : 2048 / ROWS;

__device__ __forceinline__ result_t finish(sum_t sum, const scalar_t* bias, int column) {
#if AK_BIAS
  sum += static_cast<sum_t>(bias[column]);
#endif
#if defined(AK_ACTIVATION_RELU)
  return static_cast<result_t>(ak::relu(sum));
#elif defined(AK_ACTIVATION_GELU)
  return static_cast<result_t>(ak::gelu(sum));
#elif defined(AK_ACTIVATION_SILU)
  return static_cast<result_t>(sum / (1.0f + expf(-sum)));
#else
  return static_cast<result_t>(sum);
#endif
}

// COUNT elements of a row, also as words of 4 bytes.
template <int COUNT>
union Elements {
  scalar_t value[COUNT];
  unsigned word[COUNT * SIZE < 4 ? 1 : COUNT * SIZE / 4];
  __device__ Elements() {}

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) value[i] = static_cast<scalar_t>(0.0f);
  }
  // Aligned neighbours.
  template <ak::Cache HINT>
  __device__ __forceinline__ void load(const scalar_t* from) {
    constexpr int kPack = COUNT * SIZE > 16 ? 16 / SIZE : COUNT;
#pragma unroll
    for (int first = 0; first < COUNT; first += kPack) {
      const auto pack = ak::load<kPack, HINT>(from + first);
      if constexpr (kPack * SIZE < 4) {
        value[first] = pack.value[0];
      } else {
#pragma unroll
        for (int i = 0; i < kPack * SIZE / 4; ++i) {
          word[first * SIZE / 4 + i] = reinterpret_cast<const unsigned*>(&pack.raw)[i];
        }
      }
    }
  }
  // `inside` elements that are `step` apart; zeros for the others.
  __device__ __forceinline__ void gather(const scalar_t* from, int step, int inside) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      value[i] = i < inside ? from[static_cast<long long>(i) * step] : static_cast<scalar_t>(0.0f);
    }
  }
};

// 4 x 4 bytes, a word a line: afterwards a word a column.
__device__ __forceinline__ void transpose_bytes(unsigned (&w)[4]) {
  const unsigned low_01 = __byte_perm(w[0], w[1], 0x5140), low_23 = __byte_perm(w[2], w[3], 0x5140);
  const unsigned high_01 = __byte_perm(w[0], w[1], 0x7362), high_23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low_01, low_23, 0x5410);
  w[1] = __byte_perm(low_01, low_23, 0x7632);
  w[2] = __byte_perm(high_01, high_23, 0x5410);
  w[3] = __byte_perm(high_01, high_23, 0x7632);
}

// sum + the products of four bytes each.
__device__ __forceinline__ int add_products(unsigned x, unsigned y, int sum) {
  return __dp4a(static_cast<int>(x), static_cast<int>(y), sum);
}

// What a thread does with chunks of BYTES bytes.
template <int BYTES>
struct Part {
  static constexpr int kChunk = BYTES / SIZE;
  static constexpr int kOut = ACROSS ? kChunk : LINES;    // columns of a thread
  static constexpr int kDepth = ACROSS ? LINES : kChunk;  // elements of k that it takes at a time
  static constexpr bool kBytes = SIZE == 1 && kChunk % 4 == 0;
  using Row = Elements<kDepth>;
  using Chunk = Elements<kChunk>;
  using Sums = sum_t[ROWS][kOut];

  static __device__ __forceinline__ void multiply(Sums& sums, const Row (&a)[ROWS], const Chunk (&b)[LINES]) {
    if constexpr (kBytes && ACROSS) {
#pragma unroll
      for (int line = 0; line < LINES; line += 4) {
#pragma unroll
        for (int x = 0; x < kChunk / 4; ++x) {
          unsigned w[4] = {b[line].word[x], b[line + 1].word[x], b[line + 2].word[x], b[line + 3].word[x]};
          transpose_bytes(w);
#pragma unroll
          for (int row = 0; row < ROWS; ++row) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              sums[row][x * 4 + i] = add_products(w[i], a[row].word[line / 4], sums[row][x * 4 + i]);
            }
          }
        }
      }
    } else if constexpr (kBytes) {
#pragma unroll
      for (int line = 0; line < LINES; ++line) {
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
#pragma unroll
          for (int i = 0; i < kChunk / 4; ++i) {
            sums[row][line] = add_products(b[line].word[i], a[row].word[i], sums[row][line]);
          }
        }
      }
    } else {
#pragma unroll
      for (int line = 0; line < LINES; ++line) {
#pragma unroll
        for (int i = 0; i < kChunk; ++i) {
          const sum_t y = static_cast<sum_t>(b[line].value[i]);
#pragma unroll
          for (int row = 0; row < ROWS; ++row) {
            sum_t& sum = sums[row][ACROSS ? i : line];
            sum += static_cast<sum_t>(a[row].value[ACROSS ? line : i]) * y;
          }
        }
      }
    }
  }
};

// a: m x k, element (row, at) at row * a_line + at * a_step; b: k x n in the problem's layout; c: m x n; partial:
// SPLIT_K x m x n. BYTES: of a chunk, to which every line of b is aligned; A_WIDE: what a thread needs of a row of a lies
// together and aligned.
template <int BYTES, bool A_WIDE>
__global__ void __launch_bounds__(THREADS, RESIDENT / THREADS)
    gemm_stream(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const scalar_t* __restrict__ bias,
                result_t* __restrict__ c, sum_t* __restrict__ partial, int m, int n, int k, int a_line, int a_step) {
  using P = Part<BYTES>;
  constexpr int kColumns = P::kOut * ALONG_N;  // of the block
  const int lane_n = threadIdx.x % ALONG_N, group = threadIdx.x / ALONG_N;
  const int first_row = blockIdx.y * ROWS, first_column = blockIdx.x * kColumns;
  const int column = first_column + lane_n * P::kOut;
  const int share = ((k + SPLIT_K - 1) / SPLIT_K + P::kDepth - 1) / P::kDepth * P::kDepth;
  const int begin = blockIdx.z * share, end = min(k, begin + share);

  typename P::Sums sums = {};
  for (int at = begin + group * P::kDepth; at < end; at += GROUPS * P::kDepth) {
    typename P::Chunk chunks[LINES];
    typename P::Row rows[ROWS];
    const long long line = ACROSS ? n : k;
    const scalar_t* from = b + (ACROSS ? at * line + column : column * line + at);
#pragma unroll
    for (int i = 0; i < LINES; ++i) {
      const bool inside = ACROSS ? at + i < end && column < n : column + i < n;
      if (inside) {
        chunks[i].template load<ak::Cache::streaming>(from + i * line);
      } else {
        chunks[i].clear();
      }
    }
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {  // rows past the end are the last one again
      const scalar_t* x = a + (static_cast<long long>(min(first_row + row, m - 1)) * a_line +
                               static_cast<long long>(at) * a_step);
      if constexpr (A_WIDE) {
        rows[row].template load<ak::Cache::read_only>(x);
      } else {
        rows[row].gather(x, a_step, end - at);
      }
    }
    P::multiply(sums, rows, chunks);
  }

  __shared__ sum_t parts[WARPS][ROWS * kColumns];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
#pragma unroll
    for (int out = 0; out < P::kOut; ++out) {
      sum_t sum = sums[row][out];
#pragma unroll
      for (int offset = 16; offset >= ALONG_N; offset /= 2) sum += ak::shuffle_xor(sum, offset);
      if (lane < ALONG_N) parts[warp][row * kColumns + lane * P::kOut + out] = sum;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < ROWS * kColumns; i += THREADS) {
    const int row = first_row + i / kColumns, to = first_column + i % kColumns;
    if (row >= m || to >= n) continue;
    sum_t sum = 0;
#pragma unroll
    for (int part = 0; part < WARPS; ++part) sum += parts[part][i];
    const long long place = static_cast<long long>(row) * n + to;
    if constexpr (SPLIT_K > 1) {
      partial[static_cast<long long>(blockIdx.z) * m * n + place] = sum;
    } else {
      c[place] = finish(sum, bias, to);
    }
  }
}

// Adds the parts of a result.
__global__ void __launch_bounds__(256)
    gemm_add_up(const sum_t* __restrict__ partial, const scalar_t* __restrict__ bias, result_t* __restrict__ c,
                long long count, int n) {
  const long long at = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (at >= count) return;
  sum_t sum = 0;
#pragma unroll
  for (int part = 0; part < SPLIT_K; ++part) sum += partial[part * count + at];
  c[at] = finish(sum, bias, static_cast<int>(at % n));
}
