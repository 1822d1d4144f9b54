/* alphakernel
{
  "constraints": ["dtype == 'float32'", "not any_epsilon"],
  "launches": [{"kernel": "layernorm_welford_groups<256>", "grid": ["M"], "block": [256],
                "args": ["x", "weight", "bias", "y", {"i32": "N"}]}]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Mean and variance in one walk over the row (Welford), merged over the lanes of a tile of cooperative groups and then
// over the warps of the block; a second walk writes. There is no grid-wide barrier, and no cluster of blocks.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#ifndef ALPHAKERNEL
using scalar_t = float;
#endif

struct Moments {
  float mean = 0.0f, squares = 0.0f, count = 0.0f;

  __device__ void take(float value) {
    count += 1.0f;
    const float away = value - mean;
    mean += away / count;
    squares += away * (value - mean);
  }
  __device__ void merge(const Moments& other) {
    const float all = count + other.count;
    if (all == 0.0f) return;
    const float away = other.mean - mean, part = other.count / all;
    mean += away * part;
    squares += other.squares + away * away * count * part;
    count = all;
  }
};

// One halving after another, unrolled by the compiler's recursion over templates.
template <int HALF, class Tile>
struct Halving {
  static __device__ void run(Moments& m, const Tile& tile) {
    Moments other;
    other.mean = tile.shfl_down(m.mean, HALF);
    other.squares = tile.shfl_down(m.squares, HALF);
    other.count = tile.shfl_down(m.count, HALF);
    m.merge(other);
    Halving<HALF / 2, Tile>::run(m, tile);
  }
};
template <class Tile>
struct Halving<0, Tile> {
  static __device__ void run(Moments&, const Tile&) {}
};

template <int THREADS>
__global__ void layernorm_welford_groups(const float* x, const float* weight, const float* bias, float* y, int n) {
  __shared__ Moments of_warps[THREADS / 32];
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  x += (long long)blockIdx.x * n;
  y += (long long)blockIdx.x * n;
  Moments own;
  for (int i = block.thread_rank(); i < n; i += THREADS) own.take(x[i]);
  Halving<16, decltype(tile)>::run(own, tile);
  if (tile.thread_rank() == 0) of_warps[tile.meta_group_rank()] = own;
  block.sync();
  Moments all;
  for (int w = 0; w < THREADS / 32; ++w) all.merge(of_warps[w]);
  const float scale = rsqrtf(all.squares / n + 1e-5f);
  for (int i = block.thread_rank(); i < n; i += THREADS) y[i] = (x[i] - all.mean) * scale * weight[i] + bias[i];
}
