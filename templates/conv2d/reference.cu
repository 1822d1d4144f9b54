/* alphakernel
{
  "launches": [
    {"kernel": "conv_reference", "grid": ["ceil_div(K, 32)", "ceil_div(N * P * Q, 4)"], "block": [32, 4], "when": "N * P * Q <= 4 * 65535",
     "args": ["x", "w", {"optional": "bias"}, "y", {"i32": "N"}, {"i32": "H"}, {"i32": "W"}, {"i32": "C"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}]},
    {"kernel": "conv_reference", "grid": ["ceil_div(K, 32)", 65535], "block": [32, 4], "when": "N * P * Q > 4 * 65535",
     "args": ["x", "w", {"optional": "bias"}, "y", {"i32": "N"}, {"i32": "H"}, {"i32": "W"}, {"i32": "C"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A convolution as it is defined, one result a thread at a time.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
constexpr int STRIDE = 1;
constexpr int PADDING = 1;
constexpr int DILATION = 1;
#endif

__device__ accum_t read(const scalar_t* values, long long i) {
  return static_cast<accum_t>(static_cast<float>(values[i]));
}

// What a running sum is kept as.
__device__ accum_t keep(accum_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<accum_t>(__bfloat162float(__float2bfloat16(static_cast<float>(sum))));
#else
  return sum;
#endif
}

// Where a tap of the filter is along one side of the image, which is `length` long.
__device__ int place(int at, int tap, int taps, int length, bool column) {
  int step = STRIDE, apart = DILATION;
#ifdef AK_MUTATION_NO_STRIDE
  if (column) step = 1;
#endif
#ifdef AK_MUTATION_NO_DILATION
  if (column) apart = 1;
#endif
  const int i = at * step + tap * apart - PADDING;
#ifdef AK_MUTATION_EDGES_REPEATED
  return min(max(i, 0), length - 1);
#else
  return i;
#endif
}

__device__ accum_t finish(accum_t sum, const scalar_t* bias, int filter) {
#if !defined(AK_EPILOGUE_NONE) && !defined(AK_MUTATION_NO_BIAS) && !defined(AK_MUTATION_RELU_FIRST)
  sum += read(bias, filter);
#endif
#ifdef AK_MUTATION_NO_NAN
  if (sum != sum) sum = 0;
#endif
#ifdef AK_EPILOGUE_BIAS_RELU
  sum = sum < accum_t(0) ? accum_t(0) : sum;  // NaN stays
#endif
#ifdef AK_MUTATION_RELU_FIRST
  sum += read(bias, filter);
#endif
  return sum;
}

__global__ void conv_reference(const scalar_t* x, const scalar_t* w, const scalar_t* bias, out_t* y, int images, int height,
                               int width, int channels, int filters, int rows, int columns, int out_height,
                               int out_width) {
  const int filter = blockIdx.x * 32 + threadIdx.x;
  if (filter >= filters) return;
  int used = channels;
#ifdef AK_MUTATION_LAST_CHANNELS
  if (used > 1) --used;
#endif
  const long long pixels = static_cast<long long>(images) * out_height * out_width;
  for (long long pixel = blockIdx.y * 4ll + threadIdx.y; pixel < pixels; pixel += gridDim.y * 4ll) {
    const int q = static_cast<int>(pixel % out_width), p = static_cast<int>(pixel / out_width % out_height);
    long long image = pixel / out_width / out_height;
#ifdef AK_MUTATION_FIRST_IMAGE
    image = 0;
#endif
    accum_t sum = 0;
    for (int tap = 0; tap < rows * columns; ++tap) {
#ifdef AK_MUTATION_LAST_TAP
      if (tap > 0 && tap == rows * columns - 1) continue;
#endif
      const int r = tap / columns, s = tap % columns;
      const int h = place(p, r, rows, height, false), v = place(q, s, columns, width, true);
#ifdef AK_MUTATION_WRAPPED
      const long long from = (image * height + h) * width + v;
      if (from < 0 || from >= static_cast<long long>(images) * height * width || h < 0 || h >= height) continue;
#else
      if (h < 0 || h >= height || v < 0 || v >= width) continue;
      const long long from = (image * height + h) * width + v;
#endif
#if defined(AK_MUTATION_FLIPPED)
      const int taken = rows * columns - 1 - tap;
#elif defined(AK_MUTATION_SWAPPED_TAPS)
      const int taken = s * rows + r;
#else
      const int taken = tap;
#endif
      const long long weights = (static_cast<long long>(filter) * rows * columns + taken) * channels;
      for (int c = 0; c < used; ++c) sum = keep(sum + read(x, from * channels + c) * read(w, weights + c));
    }
    y[pixel * filters + filter] = static_cast<out_t>(finish(sum, bias, filter));
  }
}
