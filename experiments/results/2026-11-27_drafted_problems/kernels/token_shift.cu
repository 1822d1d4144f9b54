/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128, 256], "default": 128}},
  "launches": [{"kernel": "token_shift", "grid": ["ceil_div(B * T * C, BLOCK)"], "block": ["BLOCK"], "args": ["x", "mu", "y", {"i64": "B * T * C"}, {"i64": "T"}, {"i64": "C"}]}]
}
*/
#include <cuda_bf16.h>

static __device__ float read(scalar_t x) { return static_cast<float>(x); }

__global__ void token_shift(const scalar_t* x, const scalar_t* mu, scalar_t* y, long long count, long long t, long long c) {
  const long long i = blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x;
  if (i >= count) return;
  const float before = i / c % t == 0 ? 0.0f : read(x[i - c]);
  const float share = read(mu[i % c]);
  y[i] = static_cast<scalar_t>(share * read(x[i]) + (1.0f - share) * before);
}
