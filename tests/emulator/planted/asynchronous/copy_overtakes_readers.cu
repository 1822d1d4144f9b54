// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 2048}, {"out": 512}]}
// The barrier behind the readers of a stage is missing.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define COPY(to, from) \
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(ADDR(to)), "l"(from) : "memory")
#define COPY_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPY_WAIT(n) asm volatile("cp.async.wait_group " #n ";" ::: "memory")

extern "C" __global__ void k(const float4* x, float* y) {
  __shared__ float4 ring[2][64];
  const int t = threadIdx.x, tiles = 8;
  COPY(&ring[0][t], x + t);
  COPY_COMMIT();
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) COPY(&ring[(i + 1) % 2][t], x + (i + 1) * 64 + t);  // FAULT shared_race
    COPY_COMMIT();
    COPY_WAIT(1);
    __syncthreads();
    y[i * 64 + t] = ring[i % 2][63 - t].x;  // ALSO async_pending shared_race
#ifdef FIXED
    __syncthreads();
#endif
  }
}
