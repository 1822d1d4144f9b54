// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [96], "args": [{"in": 96}, {"out": 96}]}
// Raising one flag from many threads is harmless as long as all store the same.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ int any;
  const int i = threadIdx.x;
  if (i == 0) any = 0;
  __syncthreads();
#ifdef FIXED
  if (x[i] > 1.5f) any = 1;  // NOTE shared_race
#else
  if (x[i] > 1.5f) any = i;  // FAULT shared_race
#endif
  __syncthreads();
  y[i] = any != 0 ? x[i] : 0.0f;
}
