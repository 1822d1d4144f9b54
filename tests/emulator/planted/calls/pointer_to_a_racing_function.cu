// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
__device__ void put(float* tile, int i, float value) { tile[i] = value; }           // FAULT shared_race
__device__ void move(float* tile, int i, float) { tile[i] = tile[(i + 37) % 64]; }  // FAULT shared_race
using Step = void (*)(float*, int, float);
__device__ Step steps[] = {put, move};

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  tile[i] = 0.0f;
  __syncthreads();
#ifdef FIXED
  steps[0](tile, i, x[i]);
#else
  steps[i / 32](tile, i, x[i]);
#endif
  __syncthreads();
  y[i] = tile[i];
}
