// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [128], "args": [{"in": 4}, {"out": 512}]}
// Accumulators are rescaled between products, as attention does it.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
// 8 rows of 16 bytes in a block; blocks 128 bytes apart along k and 256 across.
#define DESC(p) (static_cast<unsigned long long>(ADDR(p) >> 4) | 8ull << 16 | 16ull << 32)
#define MMA(d, a, b) \
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(DESC(a)), "l"(DESC(b)) : "memory")
#define MMA_FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define MMA_COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define MMA_WAIT(n) asm volatile("wgmma.wait_group.sync.aligned " #n ";" ::: "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) unsigned a[2][512], b[2][64];
  for (int i = threadIdx.x; i < 1024; i += 128) a[i / 512][i % 512] = 0x3C003C00u;
  if (threadIdx.x < 128) b[threadIdx.x / 64][threadIdx.x % 64] = 0x3C003C00u;
  PROXY_FENCE();
  __syncthreads();
  float d[4] = {};
  MMA_FENCE();
  for (int step = 0; step < 4; ++step) {
    MMA(d, a[step % 2], b[step % 2]);  // FAULT register_hazard
    MMA_COMMIT();
    MMA_WAIT(0);
    for (int i = 0; i < 4; ++i) d[i] *= x[step];
#ifdef FIXED
    MMA_FENCE();
#endif
  }
  for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = d[i];
}
