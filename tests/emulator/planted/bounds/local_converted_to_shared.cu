// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[128];
  float mine[4];
  for (int i = 0; i < 4; ++i) mine[(i + threadIdx.x) % 4] = x[threadIdx.x] + i;
#ifdef FIXED
  float* to = tile + 4 * threadIdx.x;
#else
  float* to = mine;
#endif
  for (int i = 0; i < 4; ++i) tile[4 * threadIdx.x + i] = mine[i];
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(ADDR(to)), "f"(3.0f) : "memory");  // FAULT wrong_space
  y[threadIdx.x] = tile[4 * threadIdx.x];
}
