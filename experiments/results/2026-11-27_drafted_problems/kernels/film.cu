/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128, 256], "default": 128}},
  "launches": [{"kernel": "film", "grid": ["ceil_div(B * C * P, BLOCK)"], "block": ["BLOCK"], "args": ["x", "gamma", "beta", "y", {"i64": "B * C * P"}, {"i64": "P"}]}]
}
*/
#include <cuda_bf16.h>

static __device__ float read(scalar_t x) { return static_cast<float>(x); }

__global__ void film(const scalar_t* x, const scalar_t* gamma, const scalar_t* beta, scalar_t* y, long long count, long long p) {
  const long long i = blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x;
  if (i >= count) return;
  y[i] = static_cast<scalar_t>(fmaf(read(gamma[i / p]), read(x[i]), read(beta[i / p])));
}
