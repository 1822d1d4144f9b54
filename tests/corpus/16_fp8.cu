#include <cuda_fp8.h>
__global__ void quantize(const float* x, __nv_fp8_e4m3* q, __nv_fp8_e5m2* r, float scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { q[i] = __nv_fp8_e4m3(x[i] * scale); r[i] = __nv_fp8_e5m2(float(q[i])); }
}
