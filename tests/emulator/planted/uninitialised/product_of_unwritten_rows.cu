// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 128}, {"out": 256}, {"i32": 10}]}
// Rows behind the end of the matrix are multiplied, which does no harm, and stored.
#include <cuda_fp16.h>

extern "C" __global__ void k(const float* x, float* y, int rows) {
  __shared__ alignas(16) __half tile[16][8];
  for (int i = threadIdx.x; i < rows * 8; i += 32) tile[i / 8][i % 8] = __float2half(x[i]);
  __syncwarp();
  const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(tile[threadIdx.x % 16]));
  unsigned a0, a1;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a0), "=r"(a1) : "r"(row) : "memory");  // FAULT uninitialized_read
  const unsigned one = 0x3C003C00u;
  float d0, d1, d2, d3;
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
      : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
      : "r"(a0), "r"(a1), "r"(one), "f"(0.0f));
  const int line = threadIdx.x / 4, column = threadIdx.x % 4 * 2;
  y[line * 8 + column] = d0;
  y[line * 8 + column + 1] = d1;
#ifdef FIXED
  if (line + 8 >= rows) return;
#endif
  y[(line + 8) * 8 + column] = d2;
  y[(line + 8) * 8 + column + 1] = d3;
}
