/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128, 256], "default": 128}},
  "launches": [{"kernel": "focal_loss", "grid": ["ceil_div(M * N, BLOCK)"], "block": ["BLOCK"], "args": ["x", "label", "y", {"i64": "M * N"}]}]
}
*/
#include <cuda_bf16.h>

static __device__ float read(scalar_t x) { return static_cast<float>(x); }

__global__ void focal_loss(const scalar_t* x, const unsigned char* label, float* y, long long count) {
  const long long i = blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x;
  if (i >= count) return;
  // -(1 - p)^2 log p with p = sigmoid(z), where z is the logit of what the label says.
  const float z = label[i] != 0 ? read(x[i]) : -read(x[i]);
  const float fallen = expf(-fabsf(z));
  const float missing = (z > 0 ? fallen : 1.0f) / (1.0f + fallen);
  y[i] = missing * missing * (log1pf(fallen) + fmaxf(-z, 0.0f));
}
