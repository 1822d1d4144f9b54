// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [96], "args": [{"in": 96}, {"out": 1}]}
// Three warps write, four sums are added.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float sums[4];
  float v = x[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0)
    y[0] = sums[0] + sums[1] + sums[2] +
           sums[3];  // FAULT uninitialized_read
}
