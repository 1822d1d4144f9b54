// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 256}, {"out": 32}]}
extern "C" __global__ void k(const float4* x, float* y) {
  __shared__ float4 tile[2][32];
  for (int s = 0; s < 2; ++s) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[s][threadIdx.x]));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + s * 32 + threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  y[threadIdx.x] = tile[0][threadIdx.x].x +
                   tile[1][threadIdx.x].x;  // FAULT async_pending
}
