// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
using Function = float (*)(float);
__device__ float same(float x) { return x; }
__device__ float twice(float x) { return x + x; }
__device__ float square(float x) { return x * x; }
__device__ Function functions[] = {same, twice, square};

extern "C" __global__ void k(const float* x, float* y) {
  const int i = threadIdx.x;
#ifdef FIXED
  const int which = i % 3;
#else
  const int which = i % 4;
#endif
  y[i] = functions[which](x[i]);  // FAULT out_of_bounds // ALSO invalid_operand
}
