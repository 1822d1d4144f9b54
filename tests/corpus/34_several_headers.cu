#include <cooperative_groups.h>
#include <cstdio>
#include <cub/block/block_reduce.cuh>
#include <cuda/barrier>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <mma.h>
#include <cmath>
#include <limits>
#include <algorithm>
#include <cstdint>
__global__ void all(const __nv_bfloat16* x, float* y, uint32_t n) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ Reduce::TempStorage s;
  float v = threadIdx.x < n ? (float)x[threadIdx.x] : -std::numeric_limits<float>::infinity();
  float m = Reduce(s).Reduce(v, [](float a, float b) { return std::max(a, b); });
  if (cooperative_groups::this_thread_block().thread_rank() == 0) y[0] = std::sqrt(m) + float(__nv_fp8_e4m3(1.0f));
}
