// SPDX-License-Identifier: Apache-2.0
// Blocks of one launch that hand over to each other through counters in global memory.
//
// Counters are 32-bit words that are zero when the launch begins (a workspace with "init": "zero"). An arrival costs two
// memory fences and an atomic, about a microsecond until another SM sees it.
#pragma once

namespace ak {

/// True in every thread of the one block that arrives last of all gridDim.x; what the others wrote before is visible to
/// it. Read that past L1 (Cache::l2).
__device__ __forceinline__ bool is_last_block(unsigned int* arrived) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    __threadfence();  // this block's results before its arrival
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    __threadfence();  // all arrivals before the reads that follow
  }
  __syncthreads();
  return last;
}

/// Waits until `turn` blocks have passed the turnstile on. All threads of the block take part. Whose turn comes earlier
/// must be resident or have begun before: give turns in the order of blockIdx.x.
__device__ __forceinline__ void wait_turn(const unsigned int* turnstile, unsigned int turn) {
  if (threadIdx.x == 0) {
    while (*static_cast<const volatile unsigned int*>(turnstile) < turn) __nanosleep(32);
    __threadfence();
  }
  __syncthreads();
}

/// Lets the next turn begin; what all threads of this block wrote before is visible to it.
__device__ __forceinline__ void pass_turn(unsigned int* turnstile) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(turnstile, 1u);
  }
}

}  // namespace ak
