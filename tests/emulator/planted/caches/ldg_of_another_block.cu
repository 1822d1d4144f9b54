// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [32], "budget": 200000, "args": [{"in": 64}, {"out": 64}, {"zero": 1}]}
// The flag orders the blocks; the cache does not know.
extern "C" __global__ void k(const float* x, float* y, int* flag) {
  if (blockIdx.x == 0) {
    y[threadIdx.x] = x[threadIdx.x];
    __threadfence();
    __syncwarp();
    if (threadIdx.x == 0) atomicExch(flag, 1);
    return;
  }
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
  }
  __syncthreads();
#ifdef FIXED
  y[32 + threadIdx.x] = *const_cast<volatile float*>(y + threadIdx.x);
#else
  y[32 + threadIdx.x] = __ldg(y + threadIdx.x);  // FAULT non_coherent_read
#endif
}
