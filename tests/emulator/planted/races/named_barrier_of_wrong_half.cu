// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [128], "args": [{"in": 128}, {"out": 128}]}
// Warps 0 and 1 meet at barrier 1, warps 2 and 3 at barrier 2, but data cross between them.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[128];
  const int i = threadIdx.x;
  tile[i] = x[i];
  asm volatile("bar.sync %0, 64;" ::"r"(1 + i / 64) : "memory");
  y[i] = tile[i ^ 64];  // FAULT shared_race  // ALSO uninitialized_read
}
