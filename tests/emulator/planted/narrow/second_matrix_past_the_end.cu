// SPDX-License-Identifier: Apache-2.0
// {"arch": "sm_120a", "grid": [1], "block": [32], "args": [{"in": 64}, {"out": 64}]}
// The tile has one matrix of 16 rows of 16 bytes, and two are loaded.
extern "C" __global__ void k(const unsigned* x, unsigned* y) {
  __shared__ alignas(16) unsigned tile[64];
  __shared__ unsigned other[64];
  for (int i = threadIdx.x; i < 64; i += 32) tile[i] = other[i] = x[i];
  __syncwarp();
  const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(tile)) + threadIdx.x % 32 * 16;
  unsigned r0, r1;
#ifdef FIXED
  asm volatile("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%0, %1}, [%2];" : "=r"(r0), "=r"(r1) : "r"(row) : "memory");
#else
  unsigned r2, r3;
  asm volatile("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%0, %1, %2, %3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(row) : "memory");  // FAULT out_of_bounds
  r0 += r2;
  r1 += r3;
#endif
  y[threadIdx.x * 2] = r0 + other[threadIdx.x];
  y[threadIdx.x * 2 + 1] = r1;
}
