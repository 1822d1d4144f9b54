#include <cuda_bf16.h>
__global__ void add_bf16(const __nv_bfloat162* a, const __nv_bfloat162* b, __nv_bfloat162* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = __hadd2(a[i], b[i]);
  if (i == n) c[i].x = __float2bfloat16(__bfloat162float(a[i].x) * 0.5f);
}
