#include <cuda_fp16.h>
__global__ void axpy(half alpha, const half2* x, half2* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  half2 a2 = __half2half2(alpha);
  if (i < n) y[i] = __hfma2(a2, x[i], y[i]);
  half s = __hadd(__low2half(x[0]), __high2half(x[0]));
  if (__hgt(s, __float2half(1.0f))) y[0] = h2exp(y[0]);
}
