/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128], "default": 64}},
  "workspace": [{"name": "partial", "dtype": "float32", "count": "SM_COUNT"}],
  "launches": [{"kernel": "sum_one_launch", "grid": ["SM_COUNT"], "block": ["BLOCK"], "cooperative": true,
                "args": ["x", "partial", "y", {"i64": "N"}]}]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// One block an SM adds up elements a grid apart; when all have, the first one adds up their sums.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#ifndef ALPHAKERNEL
constexpr int BLOCK = 64;
using scalar_t = float;
#endif

template <int WIDTH>
__device__ float sum_of(float value, float* shared, const cg::thread_block& block) {
  auto warp = cg::tiled_partition<32>(block);
  for (int half = 16; half > 0; half /= 2) value += warp.shfl_down(value, half);
  if (warp.thread_rank() == 0) shared[threadIdx.x / 32] = value;
  block.sync();
  float total = 0.0f;
  for (int w = 0; w < WIDTH / 32; ++w) total += shared[w];
  block.sync();
  return total;
}

__global__ void sum_one_launch(const scalar_t* x, float* partial, scalar_t* y, long long n) {
  __shared__ float shared[BLOCK / 32];
  cg::grid_group grid = cg::this_grid();
  const cg::thread_block block = cg::this_thread_block();
  float own = 0.0f;
  for (long long i = (long long)blockIdx.x * BLOCK + threadIdx.x; i < n; i += (long long)gridDim.x * BLOCK) own += static_cast<float>(x[i]);
  own = sum_of<BLOCK>(own, shared, block);
  if (threadIdx.x == 0) partial[blockIdx.x] = own;
  grid.sync();
  if (blockIdx.x > 0) return;
  float all = 0.0f;
  for (unsigned int i = threadIdx.x; i < gridDim.x; i += BLOCK) all += partial[i];
  all = sum_of<BLOCK>(all, shared, block);
  if (threadIdx.x == 0) *y = static_cast<scalar_t>(all);
}
