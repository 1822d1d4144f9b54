/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128, 256], "default": 128}},
  "launches": [{"kernel": "ema_time", "grid": ["ceil_div(C, BLOCK)"], "block": ["BLOCK"], "args": ["x", "y", {"i64": "T"}, {"i64": "C"}]}]
}
*/
#include <cuda_bf16.h>

static __device__ float read(scalar_t x) { return static_cast<float>(x); }

__global__ void ema_time(const scalar_t* x, float* y, long long t, long long c) {
  const long long channel = blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x;
  if (channel >= c) return;
  float mean = read(x[channel]);
  y[channel] = mean;
  for (long long i = 1; i < t; ++i) {
    mean += 0.1f * (read(x[i * c + channel]) - mean);
    y[i * c + channel] = mean;
  }
}
