/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 256], "default": 128},
    "BN": {"values": [64, 128, 256], "default": 128},
    "WM": {"values": [32, 64], "default": 64},
    "WN": {"values": [32, 64], "default": 64},
    "BK_BYTES": {"values": [64, 128], "default": 64},
    "STAGES": {"values": [2, 3, 4, 5], "default": 3},
    "SPLIT_K": {"values": [1, 2, 4, 8], "default": 1},
    "GROUP": {"values": [1, 4, 8], "default": 8}
  },
  "constraints": [
    "ARCH >= 80",
    "dtype != 'float32' or precision == 'tf32'",
    "BM // WM * (BN // WN) in [4, 8]",
    "max(STAGES * (BM + BN) * BK_BYTES, BM // WM * (BN // WN) * 64 * (WN + 8)) <= SHARED_BYTES_PER_BLOCK",
    "SPLIT_K == 1 or GROUP == 8"
  ],
  "let": {
    "A_LINE": "(K if a_layout == 'row' else M) * sizeof_a",
    "B_LINE": "(N if b_layout == 'row' else K) * sizeof_b",
    "WIDE": "A_LINE % 16 == 0 and B_LINE % 16 == 0 and N * sizeof_c % 16 == 0",
    "TILES": "ceil_div(M, BM) * ceil_div(N, BN)",
    "THREADS": "BM // WM * (BN // WN) * 32",
    "SHARED": "max(STAGES * (BM + BN) * BK_BYTES, BM // WM * (BN // WN) * 64 * (WN + 8))"
  },
  "workspace": [{"name": "partial", "dtype": "float32", "count": "SPLIT_K * M * N if SPLIT_K > 1 else 0"}],
  "launches": [
    {"kernel": "gemm_mma", "grid": ["TILES", "SPLIT_K"], "block": ["THREADS"], "shared_bytes": "SHARED",
     "args": ["a", "b", {"optional": "bias"}, "c", "partial", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "WIDE"},
    {"kernel": "gemm_mma_any", "grid": ["TILES", "SPLIT_K"], "block": ["THREADS"], "shared_bytes": "SHARED",
     "args": ["a", "b", {"optional": "bias"}, "c", "partial", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "not WIDE"},
    {"kernel": "gemm_add_up", "grid": ["ceil_div(M * N, 1024)"], "block": [256],
     "args": ["partial", {"optional": "bias"}, "c", {"i64": "M * N"}, {"i32": "N"}], "when": "SPLIT_K > 1"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// c = activation(a b + bias) with the matrix instructions of every architecture since Ampere. A block makes a tile of
// BM x BN, a warp WM x WN of it. Slices of a and b, BK_BYTES deep in k, come through a ring of STAGES in shared memory
// (cp.async); fragments of the next step are loaded while the current ones are multiplied.
//
//   shared memory:  [slice of a | slice of b] x STAGES; after the last slice, 16 rows of results for every warp
//
// The instructions for 16-bit, tf32 and 8-bit elements take 32 bytes of k each, with the same bytes in the same lanes:
// an operand whose lines run along k is loaded alike for all of them. An operand that lies across k is transposed on
// the way: by ldmatrix.trans (16 bits), element by element (32 bits), or as 4 x 4 bytes in registers (8 bits), where a
// lane takes four neighbouring lines; line_of says which line of the tile a line of an instruction then is.
//
// SPLIT_K > 1: as many blocks share a tile, each with its part of k. Their sums go to the workspace, and a second
// launch adds them up, in the same order every time.
// WIDE: all lines are multiples of 16 bytes. Other shapes are copied element by element.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/copies.cuh>
#include <ak/elements.cuh>
#include <ak/fragments.cuh>
#include <ak/functions.cuh>
#include <ak/mma.cuh>
#include <ak/threads.cuh>
#include <ak/tiles.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int WM = 64;
constexpr int WN = 64;
constexpr int BK_BYTES = 64;
constexpr int STAGES = 3;
constexpr int SPLIT_K = 1;
constexpr int GROUP = 8;
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

constexpr int BYTES = sizeof(scalar_t);
constexpr int VEC = 16 / BYTES;  // elements of a chunk, the unit of copies and of the swizzle
constexpr int BK = BK_BYTES / BYTES;
constexpr int STEPS = BK_BYTES / 32;  // of one instruction's depth
constexpr int WARPS_N = BN / WN;
constexpr int WARPS = BM / WM * WARPS_N;
constexpr int THREADS = WARPS * 32;
constexpr int A_BYTES = BM * BK_BYTES;
constexpr int STAGE_BYTES = (BM + BN) * BK_BYTES;
constexpr int PITCH = WN + 8;  // of staged results: pairs of 8 rows then meet different banks

using ak::u32;
using element = ak::Element<scalar_t>;

// ---- shared memory

__device__ __forceinline__ u32 load_word(u32 address) {
  u32 word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}
__device__ __forceinline__ void store_chunk(u32 address, uint4 chunk) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(chunk.x), "r"(chunk.y), "r"(chunk.z),
               "r"(chunk.w) : "memory");
}

// ---- operands

// How one operand lies in global and in shared memory. LINES: rows of a or columns of b in the block's tile, WARP_LINES
// in a warp's. A slice in shared memory has the lines of global memory: LINES of BK_BYTES, or BK of LINES elements. The
// chunks of a line are swizzled so that the lanes of one load meet different banks.
template <int LINES, int WARP_LINES, bool ACROSS>
struct Operand {
  static constexpr int kBlocks = WARP_LINES / 16;
  static constexpr int kChunks = (ACROSS ? LINES * BYTES : BK_BYTES) / 16;  // of a line in shared memory
  static constexpr int kCopies = LINES * BK_BYTES / 16 / THREADS;           // of a thread for a slice
  static_assert(kCopies * THREADS * 16 == LINES * BK_BYTES);
  using Fragments = u32[kBlocks][4];  // lines 0-7, lines 8-15 of the first 16 bytes of k, then of the second

  static __device__ __forceinline__ u32 offset(int line, int chunk) {
    int swizzle;
    if constexpr (!ACROSS) {
      swizzle = line / (8 / kChunks);
    } else if constexpr (BYTES == 1) {
      swizzle = line / 4 % 4 * 2;
    } else if constexpr (BYTES == 2) {
      swizzle = line % 8;
    } else {
      swizzle = line % 4 * 2;
    }
    constexpr int kMask = kChunks < 8 ? kChunks - 1 : 7;
    return (line * kChunks + (chunk ^ (swizzle & kMask))) * 16;
  }

  // Line of the warp's tile that line x of the 16 of a block is.
  static __device__ __forceinline__ int line_of(int block, int x) {
    if constexpr (ACROSS && BYTES == 1) return block / 2 * 32 + x % 8 * 4 + block % 2 * 2 + x / 8;
    return block * 16 + x;
  }

  // The thread's part of the slice at k. first: line of the matrix where the tile begins; pitch: elements of a line of
  // global memory.
  template <bool WIDE>
  static __device__ __forceinline__ void fetch(u32 slice, const scalar_t* matrix, int pitch, int first, int lines,
                                               int k, int end) {
    // A thread copies the same chunk of every kLinesApart-th line, so that one address and one step are enough.
    constexpr int kLinesApart = THREADS / kChunks;
    const int line = threadIdx.x / kChunks, chunk = threadIdx.x % kChunks;
    const int x = (ACROSS ? first : k) + chunk * VEC, width = ACROSS ? lines : end, height = ACROSS ? end : lines;
    int y = (ACROSS ? k : first) + line;
    const scalar_t* from = matrix + (static_cast<long long>(y) * pitch + x);
#pragma unroll(WIDE ? kCopies : 1)
    for (int i = 0; i < kCopies; ++i, y += kLinesApart, from += static_cast<long long>(kLinesApart) * pitch) {
      const u32 to = slice + offset(line + i * kLinesApart, chunk);
      if constexpr (WIDE) {
        const bool inside = x < width && y < height;
        ak::copy_async(to, inside ? from : matrix, inside);
      } else {
        union {
          scalar_t element[VEC];
          uint4 bits;
        } buffer;
        buffer.bits = make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int e = 0; e < VEC; ++e) {
          if (x + e < width && y < height) buffer.element[e] = from[e];
        }
        store_chunk(to, buffer.bits);
      }
    }
  }

  // Fragments of one step of the warp's tile, which begins at line `first` of the block's.
  static __device__ __forceinline__ void load(Fragments& r, u32 slice, int first, int step) {
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
    if constexpr (!ACROSS) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        ak::load_matrices(r[block], slice + offset(first + block * 16 + lane % 16, step * 2 + lane / 16));
      }
    } else if constexpr (BYTES == 2) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        const int chunk = first / 8 + block * 2 + lane / 8 % 2;
        ak::load_matrices_transposed(r[block], slice + offset(step * 16 + lane / 16 * 8 + lane % 8, chunk));
      }
    } else if constexpr (BYTES == 4) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int line = first + block * 16 + i % 2 * 8 + group;
          r[block][i] = load_word(slice + offset(step * 8 + i / 2 * 4 + t, line / 4) + line % 4 * 4);
        }
      }
    } else {
#pragma unroll
      for (int pair = 0; pair < kBlocks / 2; ++pair) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int line = first + pair * 32 + group * 4;
          u32 w[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            w[i] = load_word(slice + offset(step * 32 + half * 16 + t * 4 + i, line / 16) + line % 16);
          }
          const u32 low_01 = __byte_perm(w[0], w[1], 0x5140), low_23 = __byte_perm(w[2], w[3], 0x5140);
          const u32 high_01 = __byte_perm(w[0], w[1], 0x7362), high_23 = __byte_perm(w[2], w[3], 0x7362);
          r[pair * 2][half * 2] = __byte_perm(low_01, low_23, 0x5410);
          r[pair * 2][half * 2 + 1] = __byte_perm(low_01, low_23, 0x7632);
          r[pair * 2 + 1][half * 2] = __byte_perm(high_01, high_23, 0x5410);
          r[pair * 2 + 1][half * 2 + 1] = __byte_perm(high_01, high_23, 0x7632);
        }
      }
    }
#ifdef AK_DTYPE_FLOAT32
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        r[block][i] = ak::round_to_tf32(__uint_as_float(r[block][i]));
      }
    }
#endif
  }
};
using A = Operand<BM, WM, A_ACROSS>;
using B = Operand<BN, WN, B_ACROSS>;

struct Sums {
  sum_t d[A::kBlocks][WN / 8][4];

  __device__ __forceinline__ void add(const A::Fragments& a, const B::Fragments& b) {
#pragma unroll
    for (int i = 0; i < A::kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < WN / 8; ++j) ak::mma<element>(d[i][j], a[i], b[j / 2][j % 2], b[j / 2][2 + j % 2]);
    }
  }
};

// ---- results

__device__ __forceinline__ sum_t finish(sum_t sum, const scalar_t* bias, int column) {
#if AK_BIAS
  sum += static_cast<sum_t>(bias[column]);
#endif
#if defined(AK_ACTIVATION_RELU)
  return ak::relu(sum);
#elif defined(AK_ACTIVATION_GELU)
  return ak::gelu(sum);
#elif defined(AK_ACTIVATION_SILU)
  return ak::silu(sum);
#else
  return sum;
#endif
}

// COUNT neighbouring results of one row, of which `inside` are in the matrix.
template <bool WIDE, int COUNT, class Out>
__device__ __forceinline__ void write_row(Out* to, const Out (&values)[COUNT], int inside) {
  if constexpr (WIDE) {  // lines are whole vectors
    if (inside <= 0) return;
    union {
      Out element[COUNT];
      uint4 bits;
    } buffer;
#pragma unroll
    for (int e = 0; e < COUNT; ++e) buffer.element[e] = values[e];
    *reinterpret_cast<uint4*>(to) = buffer.bits;
  } else {
#pragma unroll
    for (int e = 0; e < COUNT; ++e) {
      if (e < inside) to[e] = values[e];
    }
  }
}

// Writes the warp's tile, which begins at (row, column), 16 rows of an instruction at a time.
template <bool WIDE, class Out, class Finish>
__device__ __forceinline__ void write_tile(const Sums& sums, sum_t* staged, Out* c, int row, int column, int m, int n,
                                           Finish finish_at) {
  constexpr int kCount = 16 / sizeof(Out), kLanes = WN / kCount;  // that write one row
  const int lane = threadIdx.x % 32, x = lane % kLanes * kCount;
#pragma unroll
  for (int i = 0; i < A::kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < WN / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int at = B::line_of(j / 2, j % 2 * 8 + lane % 4 * 2 + e % 2);
        staged[(lane / 4 + e / 2 * 8) * PITCH + at] = sums.d[i][j][e];
      }
    }
    __syncwarp();
#pragma unroll
    for (int y = lane / kLanes; y < 16; y += 32 / kLanes) {
      const int to = row + A::line_of(i, y);
      Out values[kCount];
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        const int at = min(column + x + e, n - 1);
        values[e] = static_cast<Out>(finish_at(staged[y * PITCH + x + e], at));
      }
      if (to < m) write_row<WIDE>(c + static_cast<long long>(to) * n + column + x, values, n - column - x);
    }
    __syncwarp();
  }
}

// Tiles are taken in groups of GROUP rows of tiles, column by column, so that blocks at work share operands in L2.
__device__ __forceinline__ void place_tile(int m, int n, int& row, int& column) {
  const int down = (m + BM - 1) / BM, across = (n + BN - 1) / BN;
  const ak::TilePlace at = ak::grouped_place<GROUP>(blockIdx.x, down, across);
  row = at.row * BM;
  column = at.column * BN;
}

template <bool WIDE>
__device__ __forceinline__ void make_tile(const scalar_t* a, const scalar_t* b, const scalar_t* bias, result_t* c,
                                          sum_t* partial, int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char memory[];
  const u32 slices = ak::shared_address(memory);
  int row, column;
  place_tile(m, n, row, column);
  const int all = (k + BK - 1) / BK, share = (all + SPLIT_K - 1) / SPLIT_K;
  const int first = static_cast<int>(blockIdx.y) * share, count = min(share, all - first);
  const int begin = first * BK, end = min(k, begin + share * BK);
  const int a_pitch = A_ACROSS ? m : k, b_pitch = B_ACROSS ? n : k;
  const int warp = threadIdx.x / 32, warp_row = warp / WARPS_N * WM, warp_column = warp % WARPS_N * WN;

  // Slices after the last are zeros: they keep the count of copies under way the same.
  const auto fetch = [&](int slice) {
    const u32 to = slices + slice % STAGES * STAGE_BYTES;
    A::template fetch<WIDE>(to, a, a_pitch, row, m, begin + slice * BK, end);
    B::template fetch<WIDE>(to + A_BYTES, b, b_pitch, column, n, begin + slice * BK, end);
    ak::commit_copies();
  };
  for (int slice = 0; slice < STAGES - 1; ++slice) fetch(slice);

  Sums sums = {};
  A::Fragments fragments_a[2];
  B::Fragments fragments_b[2];
  const auto load = [&](int into, int stage, int step) {
    A::load(fragments_a[into], slices + stage * STAGE_BYTES, warp_row, step);
    B::load(fragments_b[into], slices + stage * STAGE_BYTES + A_BYTES, warp_column, step);
  };
  ak::wait_copies<STAGES - 2>();
  __syncthreads();
  load(0, 0, 0);
  int stage = 0;
  for (int slice = 0; slice < count; ++slice) {
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
      if (step == STEPS - 1) {  // everyone has loaded the last of this slice, and the next has arrived
        ak::wait_copies<STAGES - 2>();
        __syncthreads();
        stage = stage + 1 == STAGES ? 0 : stage + 1;
      }
      load((step + 1) % 2, stage, (step + 1) % STEPS);
      if (step == 0) fetch(slice + STAGES - 1);
      sums.add(fragments_a[step % 2], fragments_b[step % 2]);
    }
  }
  ak::wait_copies<0>();
  __syncthreads();

  sum_t* staged = reinterpret_cast<sum_t*>(memory) + warp * 16 * PITCH;
  if constexpr (SPLIT_K > 1) {
    sum_t* part = partial + static_cast<long long>(blockIdx.y) * m * n;
    write_tile<WIDE>(sums, staged, part, row + warp_row, column + warp_column, m, n,
                     [](sum_t sum, int) { return sum; });
  } else {
    write_tile<WIDE>(sums, staged, c, row + warp_row, column + warp_column, m, n,
                     [&](sum_t sum, int at) { return finish(sum, bias, at); });
  }
}

// a: m x k, b: k x n, c: m x n, in the layouts of the problem; partial: SPLIT_K x m x n.
__global__ void __launch_bounds__(THREADS)
    gemm_mma(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const scalar_t* __restrict__ bias,
             result_t* __restrict__ c, sum_t* __restrict__ partial, int m, int n, int k) {
  make_tile<true>(a, b, bias, c, partial, m, n, k);
}

__global__ void __launch_bounds__(THREADS)
    gemm_mma_any(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const scalar_t* __restrict__ bias,
                 result_t* __restrict__ c, sum_t* __restrict__ partial, int m, int n, int k) {
  make_tile<false>(a, b, bias, c, partial, m, n, k);
}

// Adds the parts of 4 neighbouring results.
__global__ void __launch_bounds__(256)
    gemm_add_up(const sum_t* __restrict__ partial, const scalar_t* __restrict__ bias, result_t* __restrict__ c,
                long long count, int n) {
  const long long first = (static_cast<long long>(blockIdx.x) * 256 + threadIdx.x) * 4;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (first + e >= count) return;
    sum_t sum = 0;
#pragma unroll
    for (int part = 0; part < SPLIT_K; ++part) sum += partial[part * count + first + e];
    c[first + e] = static_cast<result_t>(finish(sum, bias, static_cast<int>((first + e) % n)));
  }
}
