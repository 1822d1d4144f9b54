// SPDX-License-Identifier: Apache-2.0
// {"arch": "sm_120a", "grid": [1], "block": [32], "args": [{"in": 64}, {"out": 128}]}
// The scales of A are put into the first two lanes of every four, and read from the other two.
extern "C" __global__ void k(const unsigned* x, float* y) {
  __shared__ unsigned scales[32];
  if (threadIdx.x % 4 < 2) scales[threadIdx.x] = 0x7F7F7F7Fu;
  __syncwarp();
  const unsigned scale = scales[threadIdx.x];  // FAULT uninitialized_read
  const unsigned a = x[threadIdx.x], b = x[threadIdx.x + 32], one = 0x7F7F7F7Fu;
#ifdef FIXED
  const unsigned short thread = 0;
#else
  const unsigned short thread = 1;
#endif
  float d[4];
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 {%0, %1, %2, %3}, "
      "{%4, %4, %4, %4}, {%5, %5}, {%6, %6, %6, %6}, %7, {0, %8}, %9, {0, 0};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a), "r"(b), "f"(0.0f), "r"(scale), "h"(thread), "r"(one));
  for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = d[i];
}
