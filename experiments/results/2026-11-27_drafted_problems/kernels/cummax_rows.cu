/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128, 256], "default": 128}},
  "launches": [{"kernel": "cummax_rows", "grid": ["ceil_div(M, BLOCK // 32)"], "block": ["BLOCK"], "args": ["x", "y", {"i64": "M"}, {"i64": "N"}]}]
}
*/
#include <cuda_bf16.h>

static __device__ float read(scalar_t x) { return static_cast<float>(x); }

__global__ void cummax_rows(const scalar_t* x, scalar_t* y, long long m, long long n) {
  const long long row = blockIdx.x * static_cast<long long>(BLOCK / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= m) return;
  float before = -INFINITY;
  for (long long start = 0; start < n; start += 32) {
    const long long i = start + lane;
    float value = i < n ? read(x[row * n + i]) : -INFINITY;
    for (int step = 1; step < 32; step *= 2) {
      const float left = __shfl_up_sync(0xffffffffu, value, step);
      if (lane >= step) value = fmaxf(value, left);
    }
    value = fmaxf(value, before);
    if (i < n) y[row * n + i] = static_cast<scalar_t>(value);
    before = __shfl_sync(0xffffffffu, value, 31);
  }
}
