// SPDX-License-Identifier: Apache-2.0
// {"grid": [8], "block": [32], "args": [{"in": 256}, {"out": 1}]}
// Every block stores its own maximum: which one stays is left to chance.
extern "C" __global__ void k(const float* x, int* best) {
  int most = static_cast<int>(x[blockIdx.x * 32 + threadIdx.x] * 4.0f) + blockIdx.x;
  most = __reduce_max_sync(0xFFFFFFFFu, most);
#ifdef FIXED
  if (blockIdx.x == 0 && threadIdx.x == 0) *best = most;
#else
  if (threadIdx.x == 0) *best = most;  // FAULT global_conflict
#endif
}
