/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128, 256], "default": 128}},
  "launches": [{"kernel": "pairwise_sqdist", "grid": ["ceil_div(M * N, BLOCK)"], "block": ["BLOCK"], "args": ["a", "b", "y", {"i64": "M * N"}, {"i64": "N"}, {"i64": "D"}]}]
}
*/
#include <cuda_bf16.h>

static __device__ float read(scalar_t x) { return static_cast<float>(x); }

__global__ void pairwise_sqdist(const scalar_t* a, const scalar_t* b, float* y, long long count, long long n, long long d) {
  const long long i = blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x;
  if (i >= count) return;
  float sum = 0;
  for (long long k = 0; k < d; ++k) {
    const float difference = read(a[i / n * d + k]) - read(b[i % n * d + k]);
    sum = fmaf(difference, difference, sum);
  }
  y[i] = sum;
}
