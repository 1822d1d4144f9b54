// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 256}, {"out": 64}]}
// A wait makes a thread's own copies visible to itself only.
extern "C" __global__ void k(const float4* x, float* y) {
  __shared__ float4 tile[64];
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[threadIdx.x]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + threadIdx.x) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  y[threadIdx.x] = tile[threadIdx.x ^ 32].x;  // FAULT shared_race  // ALSO uninitialized_read
}
