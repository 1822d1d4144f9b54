/* alphakernel
{
  "tunables": {"BLOCK": {"values": [128, 256], "default": 128}},
  "let": {"BLOCKS": "min(ceil_div(N, BLOCK * 4), SM_COUNT * 2)"},
  "launches": [
    {"kernel": "zero_bins", "grid": ["ceil_div(BINS, 256)"], "block": [256], "args": ["counts"]},
    {"kernel": "histogram_privatised", "grid": ["BLOCKS"], "block": ["BLOCK"], "args": ["keys", "counts", {"i32": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A copy of the bins for every warp of a block, put together in the end. Keys come four at a time; as many blocks as the
// device holds walk over them.
#ifndef ALPHAKERNEL
constexpr int BLOCK = 128, BINS = 256;
using scalar_t = int;
#endif

constexpr int WARPS = BLOCK / 32;

__global__ void zero_bins(int* counts) {
  const int bin = blockIdx.x * blockDim.x + threadIdx.x;
  if (bin < BINS) counts[bin] = 0;
}

// Keys may be no bin's.
__device__ __forceinline__ void count(int* bins, int key) {
  if (key >= 0 && key < BINS) atomicAdd(bins + key, 1);
}

__global__ void histogram_privatised(const int* keys, int* counts, int n) {
  __shared__ int mine[WARPS][BINS];
  for (int i = threadIdx.x; i < WARPS * BINS; i += BLOCK) (&mine[0][0])[i] = 0;
  __syncthreads();
  int* bins = mine[threadIdx.x / 32];
  const int quads = n / 4;
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < quads; i += gridDim.x * BLOCK) {
    const int4 four = reinterpret_cast<const int4*>(keys)[i];
    count(bins, four.x);
    count(bins, four.y);
    count(bins, four.z);
    count(bins, four.w);
  }
  if (blockIdx.x == 0 && threadIdx.x < n % 4) count(bins, keys[quads * 4 + threadIdx.x]);
  __syncthreads();
  for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) {
    int sum = 0;
    for (int w = 0; w < WARPS; ++w) sum += mine[w][bin];
    if (sum > 0) atomicAdd(counts + bin, sum);
  }
}
