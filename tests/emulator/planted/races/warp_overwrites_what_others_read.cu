// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// The second round stores before every lane has loaded what the first one left.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float v[32];
  const int i = threadIdx.x;
  v[i] = x[i];
  __syncwarp();
  const float left = v[(i + 31) % 32];
#ifdef FIXED
  __syncwarp();
#endif
  v[i] += left;  // FAULT shared_race
  __syncwarp();
  y[i] = v[31 - i];
}
