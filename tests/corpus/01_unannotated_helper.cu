#include <cmath>
float gelu(float x) { return 0.5f * x * (1.0f + std::erf(x * 0.70710678f)); }
__global__ void gelu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = gelu(x[i]);
}
