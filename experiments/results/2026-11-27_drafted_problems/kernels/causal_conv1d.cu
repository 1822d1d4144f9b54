/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128, 256], "default": 128}},
  "launches": [{"kernel": "causal_conv1d", "grid": ["ceil_div(B * C * T, BLOCK)"], "block": ["BLOCK"], "args": ["x", "weight", "bias", "y", {"i64": "B * C * T"}, {"i64": "C"}, {"i64": "T"}]}]
}
*/
#include <cuda_bf16.h>

static __device__ float read(scalar_t x) { return static_cast<float>(x); }

__global__ void causal_conv1d(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, scalar_t* y,
                              long long count, long long c, long long t) {
  const long long i = blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x;
  if (i >= count) return;
  const long long channel = i / t % c;
  float sum = 0;
  for (int back = 0; back < 4; ++back)
    if (i % t >= back) sum = fmaf(read(weight[channel * 4 + 3 - back]), read(x[i - back]), sum);
  y[i] = static_cast<scalar_t>(sum + read(bias[channel]));
}
