// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 128}, {"out": 32}]}
extern "C" __global__ void k(const float4* x, float* y) {
  __shared__ float4 tile[32];
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[threadIdx.x]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + threadIdx.x) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  y[threadIdx.x] = tile[threadIdx.x].x;  // FAULT async_pending
}
