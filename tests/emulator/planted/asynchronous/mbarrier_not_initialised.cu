// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ unsigned long long barrier;
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(at) : "memory");  // FAULT uninitialized_read
  y[threadIdx.x] = x[threadIdx.x];
}
