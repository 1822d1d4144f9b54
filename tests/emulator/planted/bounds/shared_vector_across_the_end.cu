// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [16], "args": [{"in": 64}, {"out": 64}, {"i32": 15}]}
// The last vector of four begins inside the array and ends in the next.
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ __align__(16) float keys[60];
  __shared__ __align__(16) float marks[16];
  const int i = threadIdx.x;
  marks[i] = 0.0f;
  __syncthreads();
  float4 v = reinterpret_cast<const float4*>(x)[i];
#ifdef FIXED
  if (i < n) reinterpret_cast<float4*>(keys)[i] = v;
#else
  reinterpret_cast<float4*>(keys)[i] = v;  // FAULT out_of_bounds
#endif
  __syncthreads();
  y[i] = (i < n ? keys[i * 4] : 0.0f) + marks[i];
}
