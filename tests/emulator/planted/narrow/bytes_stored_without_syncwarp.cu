// SPDX-License-Identifier: Apache-2.0
// {"arch": "sm_120a", "grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// Lanes read rows of a transposed matrix that other lanes have stored.
extern "C" __global__ void k(const unsigned* x, unsigned* y) {
  __shared__ alignas(16) unsigned tile[32];
  const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(tile)) + threadIdx.x % 8 * 16;
  asm volatile("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%0], {%1};" ::"r"(row), "r"(x[threadIdx.x]) : "memory");  // FAULT shared_race
#ifdef FIXED
  __syncwarp();
#endif
  y[threadIdx.x] = tile[threadIdx.x];  // FAULT shared_race
}
