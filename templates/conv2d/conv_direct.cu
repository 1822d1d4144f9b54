/* alphakernel
{
  "tunables": {
    "BM": {"values": [32, 64, 128], "default": 64},
    "BN": {"values": [32, 64, 128], "default": 64},
    "TM": {"values": [4, 8], "default": 4},
    "TN": {"values": [4, 8], "default": 4},
    "BK": {"values": [8, 16, 32], "default": 16},
    "GROUP": {"values": [1, 8], "default": 8},
    "BLOCKS_PER_SM": {"values": [1, 2, 3], "default": 2}
  },
  "constraints": [
    "64 <= THREADS <= 256",
    "BM * BK >= THREADS * 4 and BN * BK >= THREADS * 4",
    "BM * BK <= THREADS * 16 and BN * BK <= THREADS * 16",
    "BK * (BM + BN + 8) * 8 <= 49152",
    "THREADS * BLOCKS_PER_SM * (TM * TN + 2 * (TM + TN) + (BM + BN) * BK // THREADS + 40) <= 65536",
    "C % 4 == 0 or N * H * W * C < 4294967296"
  ],
  "let": {
    "THREADS": "BM // TM * (BN // TN)",
    "TILES": "ceil_div(N * P * Q, BM) * ceil_div(K, BN)"
  },
  "launches": [
    {"kernel": "conv<4>", "grid": ["TILES"], "block": ["THREADS"], "when": "C % 4 == 0",
     "args": ["x", "w", {"optional": "bias"}, "y", {"i32": "N"}, {"i32": "H"}, {"i32": "W"}, {"i32": "C"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}]},
    {"kernel": "conv<1>", "grid": ["TILES"], "block": ["THREADS"], "when": "C % 4 != 0",
     "args": ["x", "w", {"optional": "bias"}, "y", {"i32": "N"}, {"i32": "H"}, {"i32": "W"}, {"i32": "C"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A convolution in fp32 on any architecture: BM pixels x BN filters a block, TM x TN of them a thread.
//
//   slice of BK channels and taps (ak/pixels.cuh):  x, w ─► registers ─► fp32 in shared memory [k][pixel | filter], twice
//
// The next slice is on its way to registers while one is multiplied. A thread reads packs of four neighbouring pixels
// or filters at a time; between two of its packs lie those of the other threads that read along the same side.
// Where 4 does not divide the channels, chunks are single elements, whose numbers ak/pixels.cuh keeps in 32 bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/functions.cuh>
#include <ak/pixels.cuh>
#include <ak/tiles.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 64;
constexpr int BN = 64;
constexpr int TM = 4;
constexpr int TN = 4;
constexpr int BK = 16;
constexpr int GROUP = 8;
constexpr int BLOCKS_PER_SM = 2;
constexpr int STRIDE = 1;
constexpr int PADDING = 1;
constexpr int DILATION = 1;
using scalar_t = float;
#define AK_EPILOGUE_NONE 1
#endif

constexpr int THREADS_M = BM / TM, THREADS_N = BN / TN, THREADS = THREADS_M * THREADS_N;
constexpr int PITCH_M = BM + 4, PITCH_N = BN + 4;  // of a step of k: neighbouring steps begin 4 banks apart

// A thread's chunks of LINES lines in a slice: VEC neighbouring elements of k each, all at the same place along k.
template <int LINES, int VEC>
struct Share {
  static constexpr int kChunks = BK / VEC;                       // of a line
  static constexpr int kApart = THREADS / kChunks;               // lines between two of a thread
  static constexpr int kCount = (LINES + kApart - 1) / kApart;
  static __device__ __forceinline__ int line(int i) { return static_cast<int>(threadIdx.x) / kChunks + i * kApart; }
  static __device__ __forceinline__ int chunk() { return static_cast<int>(threadIdx.x) % kChunks; }

  // Lines become columns of shared memory, in fp32.
  static __device__ __forceinline__ void store(float* slice, int pitch, const ak::Pack<scalar_t, VEC> (&packs)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (line(i) >= LINES) continue;
#pragma unroll
      for (int e = 0; e < VEC; ++e) {
        slice[(chunk() * VEC + e) * pitch + line(i)] = static_cast<float>(packs[i].value[e]);
      }
    }
  }
};

template <int VEC>
__device__ __forceinline__ ak::Pack<scalar_t, VEC> zeros() {
  ak::Pack<scalar_t, VEC> pack;
#pragma unroll
  for (int e = 0; e < VEC; ++e) pack.value[e] = static_cast<scalar_t>(0.0f);
  return pack;
}

// What a thread fetches of slice after slice.
template <int VEC>
struct Fetch {
  using OfPixels = Share<BM, VEC>;
  using OfFilters = Share<BN, VEC>;
  ak::Pixels<OfPixels::kCount, STRIDE, PADDING, DILATION> pixels;
  ak::Tap tap;
  int depth = OfFilters::chunk();  // chunk of k
  ak::Pack<scalar_t, VEC> images[OfPixels::kCount], taps[OfFilters::kCount];

  __device__ __forceinline__ Fetch(const ak::Convolution& of, int pixel) {
    pixels.template begin<OfPixels::kApart>(of, pixel + OfPixels::line(0));
    tap.advance(OfPixels::chunk(), of);
  }
  // The next slice; w: the first of the block's filters, of which `filters` exist.
  __device__ __forceinline__ void start(const scalar_t* x, const scalar_t* w, int filters, const ak::Convolution& of) {
#pragma unroll
    for (int i = 0; i < OfPixels::kCount; ++i) {
      images[i] = pixels.inside(i, tap, of)
                      ? ak::load<VEC, ak::Cache::read_only>(x + static_cast<long long>(pixels.at(i, tap, of)) * VEC)
                      : zeros<VEC>();
    }
#pragma unroll
    for (int i = 0; i < OfFilters::kCount; ++i) {
      const int line = OfFilters::line(i);
      const scalar_t* from = w + (static_cast<long long>(line) * of.depth() + depth) * VEC;
      taps[i] = line < filters && depth < of.depth() ? ak::load<VEC, ak::Cache::read_only>(from) : zeros<VEC>();
    }
    tap.advance(OfPixels::kChunks, of);
    depth += OfFilters::kChunks;
  }
};

// A thread's T values of a step: packs of 4, APART packs from one to the next.
template <int T, int APART>
__device__ __forceinline__ void read(float (&values)[T], const float* step, int thread) {
#pragma unroll
  for (int i = 0; i < T; i += 4) {
    const auto pack = ak::load<4>(step + (i / 4 * APART + thread) * 4);
#pragma unroll
    for (int e = 0; e < 4; ++e) values[i + e] = pack.value[e];
  }
}

// A result from its sum.
__device__ __forceinline__ scalar_t finish(float sum, const scalar_t* bias, int filter) {
#ifndef AK_EPILOGUE_NONE
  sum += static_cast<float>(bias[filter]);
#endif
#ifdef AK_EPILOGUE_BIAS_RELU
  sum = ak::relu(sum);
#endif
  return static_cast<scalar_t>(sum);
}

template <int VEC>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    conv(const scalar_t* __restrict__ x, const scalar_t* __restrict__ w, const scalar_t* __restrict__ bias,
         scalar_t* __restrict__ y, int images, int height, int width, int channels, int filters, int rows, int columns,
         int out_height, int out_width) {
  __shared__ __align__(16) float slice_m[2][BK * PITCH_M], slice_n[2][BK * PITCH_N];
  const ak::Convolution of = {images, height, width, channels / VEC, rows, columns, out_height, out_width};
  const int down = (of.pixels() + BM - 1) / BM, across = (filters + BN - 1) / BN;
  const ak::TilePlace tile = ak::grouped_place<GROUP>(static_cast<int>(blockIdx.x), down, across);
  const int pixel = tile.row * BM, filter = tile.column * BN;
  const int slices = (of.depth() + BK / VEC - 1) / (BK / VEC);
  w += static_cast<long long>(filter) * of.depth() * VEC;

  const int m = static_cast<int>(threadIdx.x) / THREADS_N, n = static_cast<int>(threadIdx.x) % THREADS_N;
  float sums[TM][TN] = {};
  Fetch<VEC> fetch(of, pixel);
  fetch.start(x, w, filters - filter, of);
  for (int slice = 0; slice < slices; ++slice) {
    float *of_pixels = slice_m[slice % 2], *of_filters = slice_n[slice % 2];
    Fetch<VEC>::OfPixels::store(of_pixels, PITCH_M, fetch.images);
    Fetch<VEC>::OfFilters::store(of_filters, PITCH_N, fetch.taps);
    __syncthreads();
    if (slice + 1 < slices) fetch.start(x, w, filters - filter, of);
#pragma unroll
    for (int step = 0; step < BK; ++step) {
      float a[TM], b[TN];
      read<TM, THREADS_M>(a, of_pixels + step * PITCH_M, m);
      read<TN, THREADS_N>(b, of_filters + step * PITCH_N, n);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = pixel + (i / 4 * THREADS_M + m) * 4 + i % 4;
    if (row >= of.pixels()) continue;
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      const int column = filter + (j / 4 * THREADS_N + n) * 4;
      scalar_t* to = y + static_cast<long long>(row) * filters + column;
      if (filters % 4 == 0 && column < filters) {
        ak::Pack<scalar_t, 4> pack;
#pragma unroll
        for (int e = 0; e < 4; ++e) pack.value[e] = finish(sums[i][j + e], bias, column + e);
        ak::store(to, pack);
      } else {
        for (int e = 0; e < 4; ++e) {
          if (column + e < filters) to[e] = finish(sums[i][j + e], bias, column + e);
        }
      }
    }
  }
}
