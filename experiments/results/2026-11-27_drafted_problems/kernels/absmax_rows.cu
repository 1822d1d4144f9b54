/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128, 256], "default": 128}},
  "launches": [{"kernel": "absmax_rows", "grid": ["ceil_div(M, BLOCK // 32)"], "block": ["BLOCK"], "args": ["x", "y", {"i64": "M"}, {"i64": "N"}]}]
}
*/
#include <cuda_bf16.h>

static __device__ float read(scalar_t x) { return static_cast<float>(x); }

__global__ void absmax_rows(const scalar_t* x, scalar_t* y, long long m, long long n) {
  const long long row = blockIdx.x * static_cast<long long>(BLOCK / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= m) return;
  float peak = 1e-12f;
  for (long long i = lane; i < n; i += 32) peak = fmaxf(peak, fabsf(read(x[row * n + i])));
  for (int other = 16; other > 0; other /= 2) peak = fmaxf(peak, __shfl_xor_sync(0xffffffffu, peak, other));
  for (long long i = lane; i < n; i += 32) y[row * n + i] = static_cast<scalar_t>(read(x[row * n + i]) / peak);
}
