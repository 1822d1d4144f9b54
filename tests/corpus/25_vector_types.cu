#include <cuda_runtime.h>
#include <device_launch_parameters.h>
__global__ void scale(float4* x, float s, int n4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  float4 v = x[i];
  v.x *= s; v.y *= s; v.z *= s; v.w *= s;
  x[i] = make_float4(v.x, v.y, v.z, v.w);
  int2 p = make_int2(i, n4); uint3 t = threadIdx; dim3 g(1, 2, 3);
  if (p.x + (int)t.x + (int)g.z < 0) x[0].x = 0;
}
