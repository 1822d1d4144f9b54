// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [96], "args": [{"in": 96}, {"out": 96}]}
// Neighbours exchange values through volatile shared memory.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ volatile float box[96];
  const int i = threadIdx.x;
  box[i] = x[i];
#ifdef FIXED
  __syncwarp();
#endif
  y[i] = box[i ^ 1];  // FAULT shared_race
}
