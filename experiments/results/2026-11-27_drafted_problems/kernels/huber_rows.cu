/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128, 256], "default": 128}},
  "launches": [{"kernel": "huber_rows", "grid": ["ceil_div(M, BLOCK // 32)"], "block": ["BLOCK"], "args": ["p", "q", "y", {"i64": "M"}, {"i64": "N"}]}]
}
*/
#include <cuda_bf16.h>

static __device__ float read(scalar_t x) { return static_cast<float>(x); }

// A warp has a row: its lanes' sums together.
static __device__ float warp_sum(float x) {
  for (int other = 16; other > 0; other /= 2) x += __shfl_xor_sync(0xffffffffu, x, other);
  return x;
}

__global__ void huber_rows(const scalar_t* p, const scalar_t* q, float* y, long long m, long long n) {
  const long long row = blockIdx.x * static_cast<long long>(BLOCK / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= m) return;
  float sum = 0;
  for (long long i = lane; i < n; i += 32) {
    const float error = fabsf(read(p[row * n + i]) - read(q[row * n + i]));
    const float square = fminf(error, 1.0f);
    sum += square * (error - 0.5f * square);
  }
  sum = warp_sum(sum);
  if (lane == 0) y[row] = sum / static_cast<float>(n);
}
