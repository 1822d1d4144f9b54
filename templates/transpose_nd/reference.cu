/* alphakernel
{
  "let": {"COUNT": "A * B * C * D * E"},
  "launches": [
    {"kernel": "permute_reference", "grid": ["ceil_div(COUNT, 256)"], "block": [256],
     "args": ["x", "y", {"i64": "A"}, {"i64": "B"}, {"i64": "C"}, {"i64": "D"}, {"i64": "E"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x with its axes in another order, one element of y a thread.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
constexpr int PERMUTATION = 12435;
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

#ifdef AK_DTYPE_FLOAT16
constexpr float least = 6.103515625e-05f;  // of numbers that are not subnormal
#else
constexpr float least = 1.17549435e-38f;
#endif

// The axis of x, from 0 on, that axis `place` of y is.
__device__ int axis_of(int place) {
  int digits = PERMUTATION;
  for (int i = 4; i > place; --i) digits /= 10;
  return digits % 10 - 1;
}

__global__ void permute_reference(const scalar_t* x, out_t* y, long long a, long long b, long long c, long long d,
                                  long long e) {
#ifdef AK_MUTATION_SHORT_SIZES
  const long long kept = 255;
#else
  const long long kept = ~0ll;
#endif
  const long long sizes[5] = {a & kept, b & kept, c & kept, d & kept, e & kept};
  const long long strides[5] = {b * c * d * e, c * d * e, d * e, e, 1};
  const long long count = a * strides[0], to = blockIdx.x * 256ll + threadIdx.x;
  if (to >= count) return;
  long long rest = to, from = 0;
  for (int place = 4; place >= 0; --place) {
    int axis = axis_of(place);
    const long long at = rest % sizes[axis];
    rest /= sizes[axis];
#ifdef AK_MUTATION_INVERSE
    int other = 0;
    while (axis_of(other) != place) ++other;
    axis = other;
#endif
    from += at * strides[axis];
  }
#if defined(AK_MUTATION_COPY)
  from = to;
#elif defined(AK_MUTATION_INVERSE)
  from %= count;
#elif defined(AK_MUTATION_NEIGHBOURS)
  if ((from % e ^ 1) < e) from = from / e * e + (from % e ^ 1);
#endif
  float read = static_cast<float>(x[from]);
#if defined(AK_MUTATION_TIMES_ZERO)
  read += 0.0f * read;
#elif defined(AK_MUTATION_NO_NAN)
  if (read != read) read = 0.0f;
#elif defined(AK_MUTATION_FLUSHED)
  if (fabsf(read) < least) read = 0.0f;
#endif
  out_t value = static_cast<out_t>(read);
#ifdef AK_MUTATION_LAST_TILE
  if (from >= count - 32 * e) value = static_cast<out_t>(0.0f);
#endif
  y[to] = value;
}
