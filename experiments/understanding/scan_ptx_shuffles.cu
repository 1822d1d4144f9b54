/* alphakernel
{
  "tunables": {"PER_LANE": {"values": [1, 4, 8], "default": 4}},
  "constraints": ["dtype == 'int32'", "not exclusive"],
  "launches": [{"kernel": "scan_ptx_shuffles", "grid": ["M"], "block": [128], "args": ["x", "y", {"i32": "N"}]}]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A block a row, tile after tile: a thread sums its own PER_LANE neighbours, lanes by shfl.sync.up in PTX whose predicate
// says whether there was a lane to read from, warps by two arrays of shared memory in turn, so that a tile needs one
// barrier. Not in here: a pipeline of asynchronous copies.
#ifndef ALPHAKERNEL
constexpr int PER_LANE = 4;
using scalar_t = int;
#endif

__device__ __forceinline__ int before_and_own(int value) {
#pragma unroll
  for (int by = 1; by < 32; by <<= 1)
    asm volatile(
        "{\n\t.reg .pred p;\n\t.reg .s32 r;\n\t"
        "shfl.sync.up.b32 r|p, %0, %1, 0, 0xffffffff;\n\t"
        "@p add.s32 %0, %0, r;\n\t}"
        : "+r"(value)
        : "r"(by));
  return value;
}

extern "C" __global__ void __launch_bounds__(128) scan_ptx_shuffles(const int* __restrict__ x, int* __restrict__ y, int n) {
  __shared__ int totals[2][4];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  x += (long long)blockIdx.x * n;
  y += (long long)blockIdx.x * n;
  int carried = 0, parity = 0;
  for (int tile = 0; tile < n; tile += 128 * PER_LANE) {
    const int first = tile + threadIdx.x * PER_LANE;
    int held[PER_LANE], sum = 0;
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i) {
      sum += first + i < n ? x[first + i] : 0;
      held[i] = sum;
    }
    const int upto = before_and_own(sum);
    if (lane == 31) totals[parity][warp] = upto;
    __syncthreads();
    int before = carried + upto - sum;
    for (int w = 0; w < 4; ++w) {
      if (w < warp) before += totals[parity][w];
      carried += totals[parity][w];
    }
    parity = 1 - parity;
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i)
      if (first + i < n) y[first + i] = before + held[i];
  }
}
