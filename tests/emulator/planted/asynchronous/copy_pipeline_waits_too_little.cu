// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 2048}, {"out": 512}]}
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define COPY(to, from) \
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(ADDR(to)), "l"(from) : "memory")
#define COPY_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPY_WAIT(n) asm volatile("cp.async.wait_group " #n ";" ::: "memory")

extern "C" __global__ void k(const float4* x, float* y) {
  __shared__ float4 ring[3][64];
  const int t = threadIdx.x, tiles = 8;
  for (int i = 0; i < 2; ++i) {
    COPY(&ring[i][t], x + i * 64 + t);
    COPY_COMMIT();
  }
  for (int i = 0; i < tiles; ++i) {
#ifdef FIXED
    COPY_WAIT(1);
#else
    COPY_WAIT(2);
#endif
    __syncthreads();
    if (i + 2 < tiles) COPY(&ring[(i + 2) % 3][t], x + (i + 2) * 64 + t);
    COPY_COMMIT();
    y[i * 64 + t] = ring[i % 3][63 - t].x;  // FAULT async_pending shared_race
  }
}
