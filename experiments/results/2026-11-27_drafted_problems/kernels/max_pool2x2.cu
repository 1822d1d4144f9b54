/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128, 256], "default": 128}},
  "launches": [{"kernel": "max_pool2x2", "grid": ["ceil_div(C * P * Q, BLOCK)"], "block": ["BLOCK"], "args": ["x", "y", {"i64": "C * P * Q"}, {"i64": "Q"}]}]
}
*/
#include <cuda_bf16.h>

static __device__ float read(scalar_t x) { return static_cast<float>(x); }

__global__ void max_pool2x2(const scalar_t* x, scalar_t* y, long long count, long long q) {
  const long long i = blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x;
  if (i >= count) return;
  // Rows of all images follow each other: result row r comes from rows 2 r and 2 r + 1.
  const scalar_t* upper = x + i / q * 4 * q + i % q * 2;
  const scalar_t* lower = upper + 2 * q;
  y[i] = static_cast<scalar_t>(fmaxf(fmaxf(read(upper[0]), read(upper[1])), fmaxf(read(lower[0]), read(lower[1]))));
}
