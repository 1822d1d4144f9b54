/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128, 256], "default": 128}},
  "launches": [{"kernel": "cosine_rows", "grid": ["ceil_div(M, BLOCK // 32)"], "block": ["BLOCK"], "args": ["a", "b", "y", {"i64": "M"}, {"i64": "N"}]}]
}
*/
#include <cuda_bf16.h>

static __device__ float read(scalar_t x) { return static_cast<float>(x); }

// A warp has a row: its lanes' sums together.
static __device__ float warp_sum(float x) {
  for (int other = 16; other > 0; other /= 2) x += __shfl_xor_sync(0xffffffffu, x, other);
  return x;
}

__global__ void cosine_rows(const scalar_t* a, const scalar_t* b, float* y, long long m, long long n) {
  const long long row = blockIdx.x * static_cast<long long>(BLOCK / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= m) return;
  float product = 0, of_a = 0, of_b = 0;
  for (long long i = lane; i < n; i += 32) {
    const float u = read(a[row * n + i]), v = read(b[row * n + i]);
    product = fmaf(u, v, product);
    of_a = fmaf(u, u, of_a);
    of_b = fmaf(v, v, of_b);
  }
  product = warp_sum(product);
  of_a = warp_sum(of_a);
  of_b = warp_sum(of_b);
  if (lane == 0) y[row] = product / fmaxf(sqrtf(of_a) * sqrtf(of_b), 1e-8f);
}
