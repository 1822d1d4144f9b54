/* alphakernel
{
  "constraints": ["dtype == 'float32'"],
  "launches": [{"kernel": "add_in_disguise", "grid": ["ceil_div(N, 256)"], "block": [256],
                "args": ["a", "b", "c", {"i32": "N"}]}]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The plainest addition there is, one element a thread, in clothes of others: names of what it does not do, a vector of
// which one element is used, code that is switched off.
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
#endif

#define USE_ASYNC_COPY(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from))
#define SPLIT_K 1
constexpr int PAD = 1, STAGES = 1, CLUSTER_SIZE = 1;

#if 0
__device__ float warp_sum(float v) {
  __shared__ float staged[32 + PAD];
  for (int i = 16; i > 0; i /= 2) v += __shfl_xor_sync(0xffffffffu, v, i);
  staged[threadIdx.x % 32] = v;
  return staged[0];
}
#endif

__device__ void multiply(float* d, unsigned int a, unsigned int b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0}, {%1}, {%2};" : "+f"(*d) : "r"(a), "r"(b));
}

__device__ int swizzle(int block) { return block; }

__global__ void add_in_disguise(const float* a, const float* b, float* c, int n) {
  const int pipeline = 0, producer = 0, cluster_id = swizzle(blockIdx.x) * CLUSTER_SIZE;
  const int i = cluster_id * 256 + threadIdx.x + pipeline + producer;
  if (i >= n) return;
  float4 holder;
  holder.x = a[i] + b[i];
  c[i * STAGES] = holder.x;
}
