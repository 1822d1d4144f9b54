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
    "dtype not in ['float8_e4m3fn', 'float8_e5m2'] or ARCH >= 89",
    "BM // WM * (BN // WN) in [4, 8]",
    "max(STAGES * (BM + BN) * BK_BYTES, BM // WM * (BN // WN) * 64 * (WN + 8)) <= SHARED_BYTES_PER_BLOCK",
    "SPLIT_K == 1 or GROUP == 8",
    "SPLIT_K == 1 or batch == 'none'"
  ],
  "let": {
    "COUNT": "1 if batch == 'none' else B",
    "A_LINE": "(K if a_layout == 'row' else M) * sizeof_a",
    "B_LINE": "(N if b_layout == 'row' else K) * sizeof_b",
    "WIDE": "A_LINE % 16 == 0 and B_LINE % 16 == 0 and N * sizeof_c % 16 == 0",
    "CHUNKS": "A_LINE % 16 == 0 and B_LINE % 16 == 0",
    "WORDS": "A_LINE % 4 == 0 and B_LINE % 4 == 0 and not CHUNKS",
    "PADDED": "not CHUNKS and not WORDS and M * N >= 512 * (M + N)",
    "A_LINES": "COUNT * (M if a_layout == 'row' else K)",
    "B_LINES": "COUNT * (K if b_layout == 'row' else N)",
    "A_PITCH": "round_up(A_LINE, 16) // sizeof_a",
    "B_PITCH": "round_up(B_LINE, 16) // sizeof_b",
    "TILES": "ceil_div(M, BM) * ceil_div(N, BN)",
    "THREADS": "BM // WM * (BN // WN) * 32",
    "SHARED": "max(STAGES * (BM + BN) * BK_BYTES, BM // WM * (BN // WN) * 64 * (WN + 8))",
    "PER_SM": "max(1, min((SHARED_BYTES_PER_BLOCK + 1024) // (SHARED + 1024), 65536 // (THREADS * (WM * WN // 32 + 64))))",
    "BLOCKS": "TILES * SPLIT_K * COUNT",
    "WAVES": "ceil_div(BLOCKS, SM_COUNT * PER_SM)",
    "STEPS": "ceil_div(K * sizeof_a, BK_BYTES * SPLIT_K)",
    "KILOBYTES": "COUNT * ((M * K + K * N) * sizeof_a + M * N * sizeof_c) // 1024"
  },
  "time_terms": ["1", "WAVES", "WAVES * STEPS", "BLOCKS * STEPS", "BLOCKS * STEPS if WORDS else 0",
                 "0 if CHUNKS or WORDS or PADDED else BLOCKS * STEPS", "KILOBYTES", "1 if PADDED else 0",
                 "KILOBYTES if PADDED else 0", "SPLIT_K * M * N // 256 if SPLIT_K > 1 else 0"],
  "workspace": [{"name": "partial", "dtype": "float32", "count": "SPLIT_K * M * N if SPLIT_K > 1 else 0"},
                {"name": "padded_a", "dtype": "dtype", "count": "A_LINES * A_PITCH if PADDED else 0"},
                {"name": "padded_b", "dtype": "dtype", "count": "B_LINES * B_PITCH if PADDED else 0"}],
  "launches": [
    {"kernel": "gemm_mma", "grid": ["TILES", "SPLIT_K", "COUNT"], "block": ["THREADS"],
     "shared_bytes": "SHARED",
     "args": ["a", "b", {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"},
              {"optional": "column_scales"}, {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"},
              {"optional": "seed"}, {"optional": "p"},
              "c", "partial", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "WIDE"},
    {"kernel": "gemm_pad", "grid": ["SM_COUNT * 8"], "block": [256],
     "args": ["a", "padded_a", {"i64": "A_LINES"}, {"i32": "A_LINE // sizeof_a"}, {"i32": "A_PITCH"}], "when": "PADDED"},
    {"kernel": "gemm_pad", "grid": ["SM_COUNT * 8"], "block": [256],
     "args": ["b", "padded_b", {"i64": "B_LINES"}, {"i32": "B_LINE // sizeof_b"}, {"i32": "B_PITCH"}], "when": "PADDED"},
    {"kernel": "gemm_mma_chunks", "grid": ["TILES", "SPLIT_K", "COUNT"], "block": ["THREADS"],
     "shared_bytes": "SHARED",
     "args": ["padded_a", "padded_b", {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"},
              {"optional": "column_scales"}, {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"},
              {"optional": "seed"}, {"optional": "p"},
              "c", "partial", {"i32": "M"}, {"i32": "N"}, {"i32": "K"},
              {"i32": "A_PITCH"}, {"i32": "B_PITCH"}], "when": "PADDED"},
    {"kernel": "gemm_mma_chunks", "grid": ["TILES", "SPLIT_K", "COUNT"], "block": ["THREADS"],
     "shared_bytes": "SHARED",
     "args": ["a", "b", {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"},
              {"optional": "column_scales"}, {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"},
              {"optional": "seed"}, {"optional": "p"},
              "c", "partial", {"i32": "M"}, {"i32": "N"}, {"i32": "K"},
              {"i32": "A_PITCH"}, {"i32": "B_PITCH"}], "when": "CHUNKS and not WIDE"},
    {"kernel": "gemm_mma_words", "grid": ["TILES", "SPLIT_K", "COUNT"], "block": ["THREADS"],
     "shared_bytes": "SHARED",
     "args": ["a", "b", {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"},
              {"optional": "column_scales"}, {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"},
              {"optional": "seed"}, {"optional": "p"},
              "c", "partial", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "WORDS"},
    {"kernel": "gemm_mma_any", "grid": ["TILES", "SPLIT_K", "COUNT"], "block": ["THREADS"],
     "shared_bytes": "SHARED",
     "args": ["a", "b", {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"},
              {"optional": "column_scales"}, {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"},
              {"optional": "seed"}, {"optional": "p"},
              "c", "partial", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "not CHUNKS and not WORDS and not PADDED"},
    {"kernel": "gemm_add_up", "grid": ["ceil_div(M * ceil_div(N, 4), 256)"], "block": [256],
     "args": ["partial", {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"},
              {"optional": "column_scales"}, {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"},
              {"optional": "seed"}, {"optional": "p"},
              "c", {"i32": "M"}, {"i32": "N"}], "when": "SPLIT_K > 1"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The product of 16-bit, tf32, int8 and (since Ada) fp8 matrices with the matrix instructions of every architecture
// since Ampere, and what follows it (product_epilogue.cuh). A block makes a tile of BM x BN, a warp WM x WN of it.
// Slices of a and b, BK_BYTES deep in k, come through a ring of STAGES in shared memory (cp.async); fragments of the
// next step are loaded while the current ones are multiplied.
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
// Products of a batch are blocks along z.
// ALIGN: what all lines are multiples of. Lines of 16 bytes are copied in chunks, lines of 4 in words, as asynchronously.
// In other shapes some lines begin within a word: they go through registers, shifted, and wait there during the products.
// Where M N / (M + N) is 512 or more, the operands of such shapes are copied to lines of whole chunks first. On an H200 that
// is a picosecond an element of 16 bits (read and written, at 4 TB/s); the products with it, 1024 operations or more an
// element at some 400 TFLOP/s, take 2.6, of which lines that begin within words would cost more than that again.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#if defined(AK_DTYPE_FLOAT8_E4M3FN) || defined(AK_DTYPE_FLOAT8_E5M2) || defined(AK_STORE_FLOAT8_E4M3FN)
#include <cuda_fp8.h>
#endif

#include <ak/copies.cuh>
#include <ak/elements.cuh>
#include <ak/fragments.cuh>
#include <ak/mma.cuh>
#include <ak/pad.cuh>
#include <ak/product_epilogue.cuh>
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

// Sums, bias and residual, results.
#ifdef AK_DTYPE_INT8
using sum_t = int;
#else
using sum_t = float;
#endif
#if defined(AK_DTYPE_INT8) || defined(AK_DTYPE_FLOAT8_E4M3FN) || defined(AK_DTYPE_FLOAT8_E5M2)
using wide_t = __nv_bfloat16;
#else
using wide_t = scalar_t;
#endif
#if defined(AK_STORE_FLOAT8_E4M3FN)
using result_t = __nv_fp8_e4m3;
#elif defined(AK_STORE_INT8)
using result_t = signed char;
#elif defined(AK_DTYPE_INT8) && !defined(AK_SCALES_ROWS_AND_COLUMNS)
using result_t = int;
#else
using result_t = wide_t;
#endif

// What of the epilogue there is.
struct Options : ak::EpilogueOptions<sum_t, wide_t, result_t> {
#if AK_BIAS
  static constexpr bool kBias = true;
#endif
#ifdef AK_SCALES_ROWS_AND_COLUMNS
  static constexpr bool kScales = true;
#endif
#if defined(AK_RESIDUAL_SCALED)
  static constexpr ak::Residual kResidual = ak::Residual::scaled;
#elif defined(AK_RESIDUAL_ADDED)
  static constexpr ak::Residual kResidual = ak::Residual::added;
#endif
#if defined(AK_ACTIVATION_RELU)
  static constexpr ak::Activation kActivation = ak::Activation::relu;
#elif defined(AK_ACTIVATION_GELU)
  static constexpr ak::Activation kActivation = ak::Activation::gelu;
#elif defined(AK_ACTIVATION_GELU_TANH)
  static constexpr ak::Activation kActivation = ak::Activation::gelu_tanh;
#elif defined(AK_ACTIVATION_SILU)
  static constexpr ak::Activation kActivation = ak::Activation::silu;
#endif
#if defined(AK_GATE_SWIGLU)
  static constexpr ak::Gate kGate = ak::Gate::swiglu;
#elif defined(AK_GATE_GEGLU)
  static constexpr ak::Gate kGate = ak::Gate::geglu;
#endif
#ifdef AK_DROPOUT_PHILOX
  static constexpr bool kDropout = true;
#endif
#if defined(AK_STORE_FLOAT8_E4M3FN) || defined(AK_STORE_INT8)
  static constexpr bool kQuantised = true;
#endif
};
using Epilogue = ak::ProductEpilogue<Options>;

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
// Whether registers are left for chunks on their way: the sums of 64 x 64 results and two sets of fragments take them all.
constexpr bool HOLDS = WM * WN <= 2048;
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

// The `inside` elements from a place within a word on, 16 bytes in all, zeros behind them: five words, shifted, or one by
// one where not all are inside. `more`: the word in which the last of 16 bytes ends lies within the matrix.
__device__ __forceinline__ uint4 load_shifted(const scalar_t* from, bool more, int inside) {
  constexpr int kElements = 16 / sizeof(scalar_t);
  union {
    scalar_t element[kElements];
    u32 word[4];
    uint4 bits;
  } chunk;
  chunk.bits = make_uint4(0, 0, 0, 0);
  if (more && inside == kElements) {
    const u32 shift = reinterpret_cast<unsigned long long>(from) % 4;
    const u32* words = reinterpret_cast<const u32*>(reinterpret_cast<const unsigned char*>(from) - shift);
    u32 low = __ldg(words);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const u32 high = __ldg(words + i + 1);
      chunk.word[i] = __funnelshift_r(low, high, shift * 8);
      low = high;
    }
  } else {
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      if (e < inside) chunk.element[e] = from[e];
    }
  }
  return chunk.bits;
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

  // Chunks of lines that begin within a word, on their way to shared memory; the mask says of which copies.
  struct Held {
    uint4 chunk[kCopies];
    unsigned mask = 0;
  };

  // The thread's part of the slice at k. first: line of the matrix where the tile begins; pitch: elements of a line of
  // global memory. Of ALIGN 1 what could not be copied is `held`, for store_held, where there are registers for it.
  template <int ALIGN>
  static __device__ __forceinline__ void fetch(u32 slice, const scalar_t* matrix, int pitch, int first, int lines,
                                               int k, int end, Held& held) {
    // A thread copies the same chunk of every kLinesApart-th line, so that one address and one step are enough.
    constexpr int kLinesApart = THREADS / kChunks;
    const int line = threadIdx.x / kChunks, chunk = threadIdx.x % kChunks;
    const int x = (ACROSS ? first : k) + chunk * VEC, width = ACROSS ? lines : end, height = ACROSS ? end : lines;
    int y = (ACROSS ? k : first) + line;
    const scalar_t* from = matrix + (static_cast<long long>(y) * pitch + x);
    held.mask = 0;
#pragma unroll(ALIGN == 16 || (ALIGN == 1 && HOLDS) ? kCopies : 1)
    for (int i = 0; i < kCopies; ++i, y += kLinesApart, from += static_cast<long long>(kLinesApart) * pitch) {
      const u32 to = slice + offset(line + i * kLinesApart, chunk);
      if constexpr (ALIGN == 16) {
        const bool inside = x < width && y < height;
        ak::copy_async(to, inside ? from : matrix, inside);
      } else {
        const int inside = y < height ? max(0, min(width - x, VEC)) : 0;
        if (ALIGN == 4 || inside == 0 || reinterpret_cast<unsigned long long>(from) % 4 == 0) {
#pragma unroll
          for (int word = 0; word < 4; ++word) {
            const int bytes = max(0, min(inside * BYTES - word * 4, 4));
            ak::copy_async_head(to + word * 4, bytes > 0 ? from + word * 4 / BYTES : matrix, bytes);
          }
        } else {
          // The word behind the chunk is read, too: it must not lie behind the matrix.
          const uint4 shifted = load_shifted(from, y + 1 < height || width - x > VEC + 3, inside);
          if constexpr (HOLDS) {
            held.chunk[i] = shifted;
            held.mask |= 1u << i;
          } else {
            store_chunk(to, shifted);
          }
        }
      }
    }
  }

  static __device__ __forceinline__ void store_held(u32 slice, const Held& held) {
    constexpr int kLinesApart = THREADS / kChunks;
    const int line = threadIdx.x / kChunks, chunk = threadIdx.x % kChunks;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      if (held.mask >> i & 1) store_chunk(slice + offset(line + i * kLinesApart, chunk), held.chunk[i]);
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

// Whether results need more than their sum and their column: then a lane makes four at once.
#ifdef AK_BATCH_STRIDED
constexpr bool ROWS = true;
#else
constexpr bool ROWS = !Epilogue::kByColumns && !Epilogue::kPlain;
#endif

__device__ __forceinline__ sum_t finish(sum_t sum, const wide_t* bias, int column) {
#if AK_BIAS
  sum += static_cast<sum_t>(bias[column]);
#endif
  if constexpr (Epilogue::kPlain) return sum;
  return static_cast<sum_t>(ak::activate<Options::kActivation>(static_cast<float>(sum)));
}

// Puts 16 rows of the warp's tile, of an instruction, into shared memory.
__device__ __forceinline__ void stage_rows(const Sums& sums, sum_t* staged, int i) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < WN / 8; ++j) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int at = B::line_of(j / 2, j % 2 * 8 + lane % 4 * 2 + e % 2);
      staged[(lane / 4 + e / 2 * 8) * PITCH + at] = sums.d[i][j][e];
    }
  }
  __syncwarp();
}

// Writes the warp's tile, which begins at (row, column), 16 rows of an instruction at a time. WIDE: lines are whole
// vectors; else neighbouring lanes write neighbouring results.
template <bool WIDE, class Out, class Finish>
__device__ __forceinline__ void write_tile(const Sums& sums, sum_t* staged, Out* c, int row, int column, int m, int n,
                                           Finish finish_at) {
  constexpr int kCount = WIDE ? 16 / sizeof(Out) : WN / 32, kLanes = WN / kCount;  // that write one row
  constexpr int kApart = WIDE ? 1 : kLanes;                                        // results of a lane
  const int lane = threadIdx.x % 32, x = lane % kLanes * (WIDE ? kCount : 1);
#pragma unroll
  for (int i = 0; i < A::kBlocks; ++i) {
    stage_rows(sums, staged, i);
#pragma unroll(WIDE ? 16 : 4)
    for (int y = lane / kLanes; y < 16; y += 32 / kLanes) {
      const int to = row + A::line_of(i, y);
      union {
        Out element[kCount];
        uint4 bits;
      } values;
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        const int at = min(column + x + e * kApart, n - 1);
        values.element[e] = static_cast<Out>(finish_at(staged[y * PITCH + x + e * kApart], at));
      }
      Out* first = c + static_cast<long long>(to) * n + column + x;
      if constexpr (WIDE) {
        if (to < m && column + x < n) *reinterpret_cast<uint4*>(first) = values.bits;
      } else {
#pragma unroll
        for (int e = 0; e < kCount; ++e) {
          if (to < m && column + x + e * kApart < n) first[e * kApart] = values.element[e];
        }
      }
    }
    __syncwarp();
  }
}

// The same with all that may follow a product.
__device__ __forceinline__ void write_results(const Sums& sums, sum_t* staged, const Epilogue& epilogue, result_t* c,
                                              int row, int column, int m) {
  constexpr int kTaken = 4 * Epilogue::kSums, kLanes = WN / kTaken;
  const int lane = threadIdx.x % 32, x = lane % kLanes * kTaken, first = (column + x) / Epilogue::kSums;
  const bool wide = epilogue.columns() % 4 == 0;
#pragma unroll
  for (int i = 0; i < A::kBlocks; ++i) {
    stage_rows(sums, staged, i);
    // Gates and random numbers are long: unrolled, they would make 10,000 instructions of a kernel (sm_80, 64 x 64 a warp).
#pragma unroll(Options::kDropout || Epilogue::kSums == 2 ? 1 : 4)
    for (int y = lane / kLanes; y < 16; y += 32 / kLanes) {
      const int to = row + A::line_of(i, y);
      if (to >= m) continue;
      if (wide) {
        epilogue.template write<true>(staged + y * PITCH + x, c, to, first);
      } else {
        epilogue.template write<false>(staged + y * PITCH + x, c, to, first);
      }
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

template <int ALIGN, bool WIDE = false>
__device__ __forceinline__ void make_tile(const scalar_t* a, const scalar_t* b,
                                          const ak::EpilogueTensors<wide_t>& tensors, result_t* c, sum_t* partial,
                                          int m, int n, int k, int a_pitch, int b_pitch) {
  extern __shared__ __align__(128) unsigned char memory[];
  const u32 slices = ak::shared_address(memory);
#ifdef AK_BATCH_STRIDED
  a += static_cast<long long>(blockIdx.z) * (A_ACROSS ? k : m) * a_pitch;
  b += static_cast<long long>(blockIdx.z) * (B_ACROSS ? k : n) * b_pitch;
#endif
  int row, column;
  place_tile(m, n, row, column);
  const int all = (k + BK - 1) / BK, share = (all + SPLIT_K - 1) / SPLIT_K;
  const int first = static_cast<int>(blockIdx.y) * share, count = min(share, all - first);
  const int begin = first * BK, end = min(k, begin + share * BK);
  const int warp = threadIdx.x / 32, warp_row = warp / WARPS_N * WM, warp_column = warp % WARPS_N * WN;

  A::Held held_a;
  B::Held held_b;
  // Slices after the last are zeros: they keep the count of copies under way the same.
  const auto fetch = [&](int slice) {
    const u32 to = slices + slice % STAGES * STAGE_BYTES;
    A::template fetch<ALIGN>(to, a, a_pitch, row, m, begin + slice * BK, end, held_a);
    B::template fetch<ALIGN>(to + A_BYTES, b, b_pitch, column, n, begin + slice * BK, end, held_b);
    ak::commit_copies();
  };
  const auto store_held = [&](int slice) {
    if constexpr (ALIGN == 1 && HOLDS) {
      const u32 to = slices + slice % STAGES * STAGE_BYTES;
      A::store_held(to, held_a);
      B::store_held(to + A_BYTES, held_b);
    }
  };
  for (int slice = 0; slice < STAGES - 1; ++slice) {
    fetch(slice);
    store_held(slice);
  }

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
        store_held(slice + STAGES - 1);
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
  } else if constexpr (ROWS) {
    write_results(sums, staged, Epilogue(tensors, n).of(blockIdx.z, m), c, row + warp_row, column + warp_column, m);
  } else {
    write_tile<WIDE>(sums, staged, c, row + warp_row, column + warp_column, m, n,
                     [&](sum_t sum, int at) { return finish(sum, tensors.bias, at); });
  }
}

// a: m x k, b: k x n, c: m x n (half as wide with a gate), in the layouts of the problem; partial: SPLIT_K x m x n.
__global__ void __launch_bounds__(THREADS)
    gemm_mma(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const wide_t* __restrict__ bias,
             const wide_t* __restrict__ residual, const float* __restrict__ row_scales,
             const float* __restrict__ column_scales, const float* alpha, const float* beta, const float* c_scale,
             const long long* seed, const float* p, result_t* __restrict__ c,
             sum_t* __restrict__ partial, int m, int n, int k) {
  make_tile<16, true>(a, b, {bias, residual, row_scales, column_scales, alpha, beta, c_scale, seed, p}, c, partial,
                      m, n, k, A_ACROSS ? m : k, B_ACROSS ? n : k);
}

// The same for a and b in lines of a_pitch and b_pitch elements, multiples of 16 bytes.
__global__ void __launch_bounds__(THREADS)
    gemm_mma_chunks(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const wide_t* __restrict__ bias,
                    const wide_t* __restrict__ residual, const float* __restrict__ row_scales,
                    const float* __restrict__ column_scales, const float* alpha, const float* beta, const float* c_scale,
                    const long long* seed, const float* p, result_t* __restrict__ c,
                    sum_t* __restrict__ partial, int m, int n, int k, int a_pitch,
                    int b_pitch) {
  make_tile<16>(a, b, {bias, residual, row_scales, column_scales, alpha, beta, c_scale, seed, p}, c, partial,
                      m, n, k, a_pitch, b_pitch);
}

__global__ void __launch_bounds__(256)
    gemm_pad(const scalar_t* __restrict__ from, scalar_t* __restrict__ to, long long lines, int width, int pitch) {
  ak::pad_lines(from, to, lines, width, pitch);
}

__global__ void __launch_bounds__(THREADS)
    gemm_mma_words(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const wide_t* __restrict__ bias,
                   const wide_t* __restrict__ residual, const float* __restrict__ row_scales,
                   const float* __restrict__ column_scales, const float* alpha, const float* beta, const float* c_scale,
                   const long long* seed, const float* p, result_t* __restrict__ c,
                   sum_t* __restrict__ partial, int m, int n, int k) {
  make_tile<4>(a, b, {bias, residual, row_scales, column_scales, alpha, beta, c_scale, seed, p}, c, partial,
                      m, n, k, A_ACROSS ? m : k, B_ACROSS ? n : k);
}

__global__ void __launch_bounds__(THREADS)
    gemm_mma_any(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const wide_t* __restrict__ bias,
                 const wide_t* __restrict__ residual, const float* __restrict__ row_scales,
                 const float* __restrict__ column_scales, const float* alpha, const float* beta, const float* c_scale,
                 const long long* seed, const float* p, result_t* __restrict__ c,
                 sum_t* __restrict__ partial, int m, int n, int k) {
  make_tile<1>(a, b, {bias, residual, row_scales, column_scales, alpha, beta, c_scale, seed, p}, c, partial,
                      m, n, k, A_ACROSS ? m : k, B_ACROSS ? n : k);
}

// Adds the parts of the sums of 4 neighbouring results.
__global__ void __launch_bounds__(256)
    gemm_add_up(const sum_t* __restrict__ partial, const wide_t* __restrict__ bias,
              const wide_t* __restrict__ residual, const float* __restrict__ row_scales,
              const float* __restrict__ column_scales, const float* alpha, const float* beta, const float* c_scale,
              const long long* seed, const float* p, result_t* __restrict__ c, int m, int n) {
  constexpr int kTaken = 4 * Epilogue::kSums;
  const int threads_of_row = (n + kTaken - 1) / kTaken;
  const long long thread = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  const int row = static_cast<int>(thread / threads_of_row), first = static_cast<int>(thread % threads_of_row) * kTaken;
  if (row >= m) return;
  sum_t sums[kTaken] = {};
#pragma unroll
  for (int e = 0; e < kTaken; ++e) {
    if (first + e >= n) break;
#pragma unroll
    for (int part = 0; part < SPLIT_K; ++part) {
      sums[e] += partial[(static_cast<long long>(part) * m + row) * n + first + e];
    }
  }
  const Epilogue epilogue({bias, residual, row_scales, column_scales, alpha, beta, c_scale, seed, p}, n);
  epilogue.template write<false>(sums, c, row, first / Epilogue::kSums);
}
