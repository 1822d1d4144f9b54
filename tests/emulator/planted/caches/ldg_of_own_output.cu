// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
extern "C" __global__ void k(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
#ifdef FIXED
  const float other = *const_cast<volatile float*>(y + (threadIdx.x ^ 1));
#else
  const float other = __ldg(y + (threadIdx.x ^ 1));  // FAULT non_coherent_read
#endif
  __syncthreads();
  y[threadIdx.x] += other;
}
