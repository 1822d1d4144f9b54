// SPDX-License-Identifier: Apache-2.0
// {"arch": "sm_120a", "grid": [1], "block": [32], "args": [{"in": 64}, {"out": 128}]}
// Every lane selects the byte of its own column, but the warp has one selector.
#define MULTIPLY(d, a, b, scale, byte) \
  asm volatile( \
      "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 {%0, %1, %2, %3}, " \
      "{%4, %4, %4, %4}, {%5, %5}, {%6, %6, %6, %6}, %7, {0, 0}, %7, {%8, 0};" \
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) \
      : "r"(a), "r"(b), "f"(0.0f), "r"(scale), "h"(byte))

extern "C" __global__ void k(const unsigned* x, float* y) {
  const unsigned a = x[threadIdx.x], b = x[threadIdx.x + 32], scale = 0x7F7F7F7Fu;
#ifdef FIXED
  const unsigned short byte = 3;
#else
  const unsigned short byte = threadIdx.x / 8;
#endif
  float d[4];
  MULTIPLY(d, a, b, scale, byte);  // FAULT invalid_operand
  for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = d[i];
}
