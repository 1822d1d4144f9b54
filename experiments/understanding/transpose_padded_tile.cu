/* alphakernel
{
  "tunables": {"ROWS": {"values": [4, 8, 16], "default": 8}},
  "launches": [{"kernel": "transpose_padded_tile", "grid": ["ceil_div(C, 32)", "ceil_div(R, 32)"], "block": [32, "ROWS"],
                "args": ["x", "y", {"i32": "R"}, {"i32": "C"}]}]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The classic transpose: a square through shared memory, whose lines are one element longer than they need to be.
// No tensor cores (mma.sync, wgmma) and no __shfl_sync are in here, whatever this comment names.
#ifndef ALPHAKERNEL
constexpr int ROWS = 8;
using scalar_t = float;
#endif

constexpr int SIDE = 32;

extern "C" __global__ void transpose_padded_tile(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int rows, int columns) {
  __shared__ scalar_t square[SIDE][SIDE + 1];
  int column = blockIdx.x * SIDE + threadIdx.x, row = blockIdx.y * SIDE + threadIdx.y;
#pragma unroll
  for (int j = 0; j < SIDE; j += ROWS)
    if (row + j < rows && column < columns) square[threadIdx.y + j][threadIdx.x] = x[(long long)(row + j) * columns + column];
  __syncthreads();
  column = blockIdx.y * SIDE + threadIdx.x;
  row = blockIdx.x * SIDE + threadIdx.y;
#pragma unroll
  for (int j = 0; j < SIDE; j += ROWS)
    if (row + j < columns && column < rows) y[(long long)(row + j) * rows + column] = square[threadIdx.x][threadIdx.y + j];
}
