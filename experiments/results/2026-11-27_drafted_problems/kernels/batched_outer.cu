/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128, 256], "default": 128}},
  "launches": [{"kernel": "batched_outer", "grid": ["ceil_div(B * M * N, BLOCK)"], "block": ["BLOCK"], "args": ["a", "b", "y", {"i64": "B * M * N"}, {"i64": "M"}, {"i64": "N"}]}]
}
*/
#include <cuda_bf16.h>

static __device__ float read(scalar_t x) { return static_cast<float>(x); }

__global__ void batched_outer(const scalar_t* a, const scalar_t* b, scalar_t* y, long long count, long long m, long long n) {
  const long long i = blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x;
  if (i >= count) return;
  y[i] = static_cast<scalar_t>(read(a[i / n]) * read(b[i / (m * n) * n + i % n]));
}
