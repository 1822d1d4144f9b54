/* alphakernel
{
  "tunables": {
    "BM": {"values": [32, 64, 128, 256], "default": 128},
    "BN": {"values": [32, 64, 128, 256], "default": 256},
    "BK": {"values": [8, 16], "default": 16},
    "TM": {"values": [4, 8, 16], "default": 16},
    "TN": {"values": [4, 8, 16], "default": 8},
    "STAGES": {"values": [2, 3, 4], "default": 3},
    "PER_SM": {"values": [1, 2, 3, 4], "default": 1},
    "SPLIT_K": {"values": [1, 2, 4, 8], "default": 1},
    "GROUP": {"values": [1, 8], "default": 8}
  },
  "starts": [
    {"BM": 256, "BN": 64, "TM": 8},
    {"BM": 256, "BN": 128, "TM": 8, "TN": 16}
  ],
  "constraints": [
    "dtype == 'float32' and precision == 'ieee' or dtype in ['float8_e4m3fn', 'float8_e5m2']",
    "BM // TM % 8 == 0 and BN // TN % 8 == 0",
    "BM * BN // (TM * TN) in [64, 128, 256]",
    "BM * BK % (BM * BN // (TM * TN) * 4) == 0 and BN * BK % (BM * BN // (TM * TN) * 4) == 0",
    "32 <= TM * TN <= 128",
    "BM * BN // (TM * TN) * PER_SM * (TM * TN + (4 if a_layout == 'row' else 2) * TM + (2 if b_layout == 'row' else 4) * TN + 24) <= 65536",
    "256 <= BM * BN // (TM * TN) * PER_SM <= 512",
    "32 <= BK * STAGES <= 64",
    "STAGES * (BM + BN) * BK * 4 <= SHARED_BYTES_PER_BLOCK // PER_SM - 1024",
    "SPLIT_K == 1 or GROUP == 8 and BM <= 128 and PER_SM >= 2",
    "SPLIT_K == 1 or batch == 'none'"
  ],
  "let": {
    "COUNT": "1 if batch == 'none' else B",
    "A_LINE": "K if a_layout == 'row' else M",
    "B_LINE": "N if b_layout == 'row' else K",
    "WIDE": "A_LINE % 4 == 0 and B_LINE % 4 == 0 and N % 4 == 0",
    "TILES": "ceil_div(M, BM) * ceil_div(N, BN)",
    "RESULTS": "M * (N if gate == 'none' else N // 2)",
    "THREADS": "BM * BN // (TM * TN)",
    "SHARED": "STAGES * (BM + BN) * BK * 4"
  },
  "workspace": [{"name": "partial", "dtype": "float32", "count": "SPLIT_K * M * N if SPLIT_K > 1 else 0"}],
  "launches": [
    {"kernel": "gemm_simt", "grid": ["TILES", "SPLIT_K", "COUNT"], "block": ["THREADS"], "shared_bytes": "SHARED",
     "args": ["a", "b", {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"},
              {"optional": "column_scales"}, {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"},
              {"optional": "seed"}, {"optional": "p"},
              "c", "partial", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "WIDE"},
    {"kernel": "gemm_simt_any", "grid": ["TILES", "SPLIT_K", "COUNT"], "block": ["THREADS"], "shared_bytes": "SHARED",
     "args": ["a", "b", {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"},
              {"optional": "column_scales"}, {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"},
              {"optional": "seed"}, {"optional": "p"},
              "c", "partial", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "not WIDE"},
    {"kernel": "gemm_add_up", "grid": ["ceil_div(RESULTS, 256)"], "block": [256],
     "args": ["partial", {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"},
              {"optional": "column_scales"}, {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"},
              {"optional": "seed"}, {"optional": "p"},
              "c", {"i64": "RESULTS"}, {"i32": "N"}], "when": "SPLIT_K > 1"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The product of float32 or fp8 matrices in float32 proper, with fused multiply-adds, and what follows it
// (product_epilogue.cuh). A block makes a tile of BM x BN, a thread TM x TN of it, in registers. Slices of a and b, BK
// deep, come through a ring of STAGES in shared memory (cp.async), in the lines of global memory: nothing is transposed
// on the way. What a thread reads there are always vectors of 4:
//
//   an operand across k (lines of BM or BN elements): 4 neighbours of one line of k, 2 lines at a time in registers
//   an operand along k (lines of BK elements): 4 steps of k of each of its rows or columns; chunks are swizzled
//
// A warp is 4 threads down and 8 across, so that both kinds of vectors come from different banks. TM x TN = 128 products
// take 6 loads of vectors, 64 take 4: with 128 lanes of multiply-adds an SM, whose shared memory gives 32 floats a clock,
// that is what separates the sizes. Loads of step k + 1 stand before the products of step k, and those of an operand
// along k behind the last products of each row.
//
// SPLIT_K > 1: as many blocks share a tile; their sums go to the workspace, and a second launch adds them in order.
// Products of a batch are blocks along z.
// WIDE: all lines are multiples of 4 elements. Other shapes are copied element by element, as asynchronously.
// Numbers of fp8 become floats on the way to shared memory, which asynchronous copies cannot do: those are ordinary
// loads and stores.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <ak/copies.cuh>
#include <ak/product_epilogue.cuh>
#include <ak/swizzle.cuh>
#include <ak/threads.cuh>
#include <ak/tiles.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int BN = 256;
constexpr int BK = 16;
constexpr int TM = 16;
constexpr int TN = 8;
constexpr int STAGES = 3;
constexpr int PER_SM = 1;
constexpr int SPLIT_K = 1;
constexpr int GROUP = 8;
using scalar_t = float;
#define AK_DTYPE_FLOAT32 1
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

// Bias and residual, results.
#ifdef AK_DTYPE_FLOAT32
using wide_t = float;
#else
using wide_t = __nv_bfloat16;
#endif
#if defined(AK_STORE_FLOAT8_E4M3FN)
using result_t = __nv_fp8_e4m3;
#elif defined(AK_STORE_INT8)
using result_t = signed char;
#else
using result_t = wide_t;
#endif

// What of the epilogue there is.
struct Options : ak::EpilogueOptions<float, wide_t, result_t> {
#ifdef AK_DTYPE_FLOAT32
  static constexpr bool kPrecise = true;
#endif
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

// A part of the sums, as it is.
using PartEpilogue = ak::ProductEpilogue<ak::EpilogueOptions<float, float, float>>;

// Whether a thread's columns are neighbours, four at a time. Of b along k they are not, so that lines of shared memory are
// read without conflicts, unless results need their neighbours: then lines of b lie in another order there.
constexpr bool FOURS = B_ACROSS || !Epilogue::kByColumns;

constexpr int THREADS = BM / TM * (BN / TN);
constexpr int A_BYTES = BM * BK * 4;
constexpr int STAGE_BYTES = (BM + BN) * BK * 4;

using ak::u32;

__device__ __forceinline__ float4 load_vector(u32 address) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(address));
  return v;
}
__device__ __forceinline__ void store_vector(u32 address, float4 v) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
               : "memory");
}
__device__ __forceinline__ void store_float(u32 address, float x) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(x) : "memory");
}

// Copies COUNT elements to shared memory, as floats; zeros where they are not inside the matrix.
template <int COUNT>
__device__ __forceinline__ void copy_floats(u32 to, const scalar_t* from, bool inside) {
  if constexpr (sizeof(scalar_t) == sizeof(float)) {
    ak::copy_async<COUNT * 4>(to, from, inside);
  } else if constexpr (COUNT == 1) {
    store_float(to, inside ? static_cast<float>(*from) : 0.0f);
  } else {
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (inside) {
      const auto four = ak::load<4>(from);
      v = make_float4(static_cast<float>(four.value[0]), static_cast<float>(four.value[1]),
                      static_cast<float>(four.value[2]), static_cast<float>(four.value[3]));
    }
    store_vector(to, v);
  }
}

// One operand: LINES rows of a or columns of b in the block's tile, COUNT of them a thread's, single
// ones or (FOURS) four neighbours at a time.
template <int LINES, int COUNT, bool ACROSS, bool FOURS>
struct Operand {
  static constexpr int kPlaces = LINES / COUNT;             // threads beside each other
  static constexpr int kChunks = (ACROSS ? LINES : BK) / 4;  // of 16 bytes, of a line in shared memory
  static constexpr int kCopies = LINES * BK / 4 / THREADS;
  static constexpr int kLinesApart = THREADS / kChunks;
  static_assert(kCopies * THREADS * 4 == LINES * BK && kLinesApart * kChunks == THREADS);

  static __device__ __forceinline__ u32 offset(int line, int chunk) {
    if constexpr (ACROSS) return (line * kChunks + chunk) * 16;
    return ak::swizzled<BK * 4>(line, chunk);
  }

  // Line of the tile that the thread's i-th one is.
  static __device__ __forceinline__ int line(int i, int place) {
    if constexpr (FOURS) return i / 4 * (kPlaces * 4) + place * 4 + i % 4;
    return i * kPlaces + place;
  }
  // Where a line of an operand along k lies in shared memory: a thread's i-th one at i * kPlaces + place.
  static __device__ __forceinline__ int slot(int line) {
    if constexpr (ACROSS || !FOURS) return line;
    return (line / (kPlaces * 4) * 4 + line % 4) * kPlaces + line / 4 % kPlaces;
  }

  // Where the thread's part of a slice at k begins. first: line of the matrix where the tile begins.
  static __device__ __forceinline__ const scalar_t* source(const scalar_t* matrix, int pitch, int first, int k) {
    const int line = threadIdx.x / kChunks, chunk = threadIdx.x % kChunks;
    return matrix + (static_cast<long long>((ACROSS ? k : first) + line) * pitch + (ACROSS ? first : k) + chunk * 4);
  }

  // The thread's part of a slice: the same chunk of every kLinesApart-th line. lines, steps: how many are left of the
  // matrix. Nothing is read behind its end.
  template <bool WIDE>
  static __device__ __forceinline__ void fetch(u32 slice, const scalar_t* from, int pitch, int lines, int steps) {
    const int line = threadIdx.x / kChunks, x = threadIdx.x % kChunks * 4;
    const int width = (ACROSS ? lines : steps) - x, height = ACROSS ? steps : lines;
    const long long apart = static_cast<long long>(kLinesApart) * pitch;
    constexpr int kElements = WIDE ? 4 : 1;
#pragma unroll
    for (int e = 0; e < 4; e += kElements) {
      const int end = e < width ? height : 0;
      const scalar_t* at = from + e;
#pragma unroll
      for (int i = 0; i < kCopies; ++i, at += apart) {
        const int y = line + i * kLinesApart;
        copy_floats<kElements>(slice + offset(slot(y), x / 4) + e * 4, at, y < end);
      }
    }
  }

  // What a thread holds: across k 2 steps of it, of which one is in use, along k 4 steps.
  float held[ACROSS ? 2 : COUNT][ACROSS ? COUNT : 4];

  __device__ __forceinline__ float at(int i, int k) const { return ACROSS ? held[k % 2][i] : held[i][k % 4]; }

  // Loads step k of an operand across k.
  __device__ __forceinline__ void load_step(u32 slice, int place, int k) {
#pragma unroll
    for (int part = 0; part < COUNT / 4; ++part) {
      const float4 v = load_vector(slice + (k * LINES + part * kPlaces * 4 + place * 4) * 4);
      float* to = &held[k % 2][part * 4];
      to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    }
  }
  // Loads the steps from k on, a multiple of 4, of the i-th line of an operand along k.
  __device__ __forceinline__ void load_line(u32 slice, int place, int k, int i) {
    const float4 v = load_vector(slice + offset(place, k / 4) + i * kPlaces * BK * 4);
    held[i][0] = v.x, held[i][1] = v.y, held[i][2] = v.z, held[i][3] = v.w;
  }
  // What the first step needs.
  __device__ __forceinline__ void load_first(u32 slice, int place) {
    if constexpr (ACROSS) {
      load_step(slice, place, 0);
    } else {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) load_line(slice, place, 0, i);
    }
  }
};
using A = Operand<BM, TM, A_ACROSS, A_ACROSS>;
using B = Operand<BN, TN, B_ACROSS, FOURS>;
static_assert(A::kPlaces % 8 == 0 && B::kPlaces % 8 == 0, "lines of a thread are then swizzled alike");

// Tiles are taken in groups of GROUP rows of tiles, column by column, so that blocks at work share operands in L2.
__device__ __forceinline__ void place_tile(int m, int n, int& row, int& column) {
  const int down = (m + BM - 1) / BM, across = (n + BN - 1) / BN;
  const ak::TilePlace at = ak::grouped_place<GROUP>(blockIdx.x, down, across);
  row = at.row * BM;
  column = at.column * BN;
}

// Makes the thread's results and writes them to c: vectors where its columns are neighbours and lines whole vectors, else
// one by one.
template <bool WIDE, class E>
__device__ __forceinline__ void write_tile(const float (&sums)[TM][TN], const E& epilogue, typename E::Result* c,
                                           int row, int column, int down, int across, int m) {
  constexpr int kTaken = FOURS ? 4 : 1;  // sums that are neighbours
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int to = row + A::line(i, down);
    if (to >= m) continue;
#pragma unroll
    for (int j = 0; j < TN; j += kTaken) {
      const int at = column + B::line(j, across);
      epilogue.template write<WIDE && FOURS, kTaken / E::kSums>(&sums[i][j], c, to, at / E::kSums);
    }
  }
}

template <bool WIDE>
__device__ __forceinline__ void make_tile(const scalar_t* a, const scalar_t* b,
                                          const ak::EpilogueTensors<wide_t>& tensors, result_t* c, float* partial,
                                          int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char memory[];
  const u32 slices = ak::shared_address(memory);
#ifdef AK_BATCH_STRIDED
  a += static_cast<long long>(blockIdx.z) * m * k;
  b += static_cast<long long>(blockIdx.z) * k * n;
#endif
  int row, column;
  place_tile(m, n, row, column);
  const int a_pitch = A_ACROSS ? m : k, b_pitch = B_ACROSS ? n : k;
  const ak::TilePart part = ak::split_part<SPLIT_K>(0, (k + BK - 1) / BK, blockIdx.y);
  const int begin = part.first * BK, end = min(k, begin + part.count * BK);
  const int lane = ak::lane_index(), warp = ak::warp_index();
  constexpr int kAcross = B::kPlaces / 8;  // warps beside each other
  const int down = warp / kAcross * 4 + lane / 8, across = warp % kAcross * 8 + lane % 8;

  // Slices after the last are zeros: they keep the count of copies under way the same.
  const scalar_t* from_a = A::source(a, a_pitch, row, begin);
  const scalar_t* from_b = B::source(b, b_pitch, column, begin);
  int steps = end - begin;
  const auto fetch = [&](int stage) {
    const u32 to = slices + stage * STAGE_BYTES;
    A::template fetch<WIDE>(to, from_a, a_pitch, m - row, steps);
    B::template fetch<WIDE>(to + A_BYTES, from_b, b_pitch, n - column, steps);
    ak::commit_copies();
    from_a += A_ACROSS ? static_cast<long long>(BK) * a_pitch : BK;
    from_b += B_ACROSS ? static_cast<long long>(BK) * b_pitch : BK;
    steps -= BK;
  };
  for (int stage = 0; stage < STAGES - 1; ++stage) fetch(stage);

  float sums[TM][TN] = {};
  A held_a;
  B held_b;
  ak::wait_copies<STAGES - 2>();
  __syncthreads();
  held_a.load_first(slices, down);
  held_b.load_first(slices + A_BYTES, across);
  int stage = 0, free = STAGES - 1;  // the one in use, the one before it
  for (int slice = 0; slice < part.count; ++slice) {
    u32 next = slices + stage * STAGE_BYTES;  // where the next step lies
#pragma unroll
    for (int kk = 0; kk < BK; ++kk) {
      const int then = (kk + 1) % BK;
      if (then == 0) {  // everyone has loaded the last of this slice, and the next has arrived
        ak::wait_copies<STAGES - 2>();
        __syncthreads();
        free = stage;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        next = slices + stage * STAGE_BYTES;
      }
      if constexpr (A_ACROSS) held_a.load_step(next, down, then);
      if constexpr (B_ACROSS) held_b.load_step(next + A_BYTES, across, then);
      if (kk == 0) fetch(free);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) sums[i][j] = fmaf(held_a.at(i, kk), held_b.at(j, kk), sums[i][j]);
        if constexpr (!A_ACROSS) {
          if (then % 4 == 0) held_a.load_line(next, down, then, i);
        }
      }
      if constexpr (!B_ACROSS) {
        if (then % 4 == 0) {
#pragma unroll
          for (int j = 0; j < TN; ++j) held_b.load_line(next + A_BYTES, across, then, j);
        }
      }
    }
  }
  ak::wait_copies<0>();

  if constexpr (SPLIT_K > 1) {
    write_tile<WIDE>(sums, PartEpilogue({}, n).of(blockIdx.y, m), partial, row, column, down, across, m);
  } else {
    write_tile<WIDE>(sums, Epilogue(tensors, n).of(blockIdx.z, m), c, row, column, down, across, m);
  }
}

// a: m x k, b: k x n, c: m x n (half as wide with a gate), in the layouts of the problem; partial: SPLIT_K x m x n.
__global__ void __launch_bounds__(THREADS, PER_SM)
    gemm_simt(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const wide_t* __restrict__ bias,
              const wide_t* __restrict__ residual, const float* __restrict__ row_scales,
              const float* __restrict__ column_scales, const float* alpha, const float* beta, const float* c_scale,
              const long long* seed, const float* p, result_t* __restrict__ c,
              float* __restrict__ partial, int m, int n, int k) {
  make_tile<true>(a, b, {bias, residual, row_scales, column_scales, alpha, beta, c_scale, seed, p}, c, partial, m, n,
                 k);
}

__global__ void __launch_bounds__(THREADS, PER_SM)
    gemm_simt_any(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const wide_t* __restrict__ bias,
                  const wide_t* __restrict__ residual, const float* __restrict__ row_scales,
                  const float* __restrict__ column_scales, const float* alpha, const float* beta, const float* c_scale,
                  const long long* seed, const float* p, result_t* __restrict__ c,
                  float* __restrict__ partial, int m, int n, int k) {
  make_tile<false>(a, b, {bias, residual, row_scales, column_scales, alpha, beta, c_scale, seed, p}, c, partial, m, n,
                  k);
}

// Adds the parts of the sums of a result, one of `count`.
__global__ void __launch_bounds__(256)
    gemm_add_up(const float* __restrict__ partial, const wide_t* __restrict__ bias,
                const wide_t* __restrict__ residual, const float* __restrict__ row_scales,
                const float* __restrict__ column_scales, const float* alpha, const float* beta, const float* c_scale,
                const long long* seed, const float* p, result_t* __restrict__ c,
                long long count, int n) {
  const long long at = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (at >= count) return;
  constexpr int kSums = Epilogue::kSums;
  float sums[kSums] = {};
#pragma unroll
  for (int part = 0; part < SPLIT_K; ++part) {
#pragma unroll
    for (int e = 0; e < kSums; ++e) sums[e] += partial[(part * count + at) * kSums + e];
  }
  const Epilogue epilogue({bias, residual, row_scales, column_scales, alpha, beta, c_scale, seed, p}, n);
  const long long row = at / epilogue.columns();
  epilogue.template write<false, 1>(sums, c, static_cast<int>(row), static_cast<int>(at - row * epilogue.columns()));
}
