/* alphakernel
{
  "tunables": {
    "LANES": {"values": [1, 2, 4, 8, 16, 32], "default": 8},
    "THREADS": {"values": [64, 128, 256], "default": 128},
    "ITEMS": {"values": [1, 2, 4, 8], "default": 4},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "launches": [
    {"kernel": "multiply_rows", "grid": ["ceil_div(R, THREADS // LANES)"], "block": ["THREADS"],
     "args": ["pointers", "columns", "values", "x", "y", {"i32": "R"}, {"i32": "C"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[r] = sum over the entries p of row r of values[p] x[columns[p]]. LANES lanes take a row, ITEMS entries a lane at a time:
// all columns and values first, then what they name of x, so that latency is paid once for the group. The lanes add up in
// a fixed order. A row much longer than others keeps its lanes busy alone.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/reduce.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int LANES = 8;
constexpr int THREADS = 128;
constexpr int ITEMS = 4;
constexpr int CACHE = 1;
using scalar_t = float;
#endif

__device__ __forceinline__ float widen(scalar_t x) { return static_cast<float>(x); }

// CACHE 1: evict-first hints for entries, which are touched once; x is wanted again.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

__global__ void __launch_bounds__(THREADS)
    multiply_rows(const int* __restrict__ pointers, const int* __restrict__ columns, const scalar_t* __restrict__ values,
                  const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int rows, int width) {
  const long long row = static_cast<long long>(blockIdx.x) * (THREADS / LANES) + static_cast<int>(threadIdx.x) / LANES;
  const int lane = static_cast<int>(threadIdx.x) % LANES;
  const int begin = row < rows ? pointers[row] : 0, end = row < rows ? pointers[row + 1] : 0;
  float sum = 0.0f;
  for (long long first = static_cast<long long>(begin) + lane; first < end; first += LANES * ITEMS) {
    int column[ITEMS];
    float value[ITEMS], other[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      const bool inside = first + k * LANES < end;
      column[k] = inside ? ak::load<1, HINT>(columns + first + k * LANES).value[0] : -1;
      value[k] = inside ? widen(ak::load<1, HINT>(values + first + k * LANES).value[0]) : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      const bool exists = column[k] >= 0 && column[k] < width;
      other[k] = exists ? widen(ak::load<1, ak::Cache::read_only>(x + column[k]).value[0]) : 0.0f;
      if (!exists) value[k] = 0.0f;  // or NaN would come of it
    }
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) sum += value[k] * other[k];
  }
  sum = ak::reduce_lanes<LANES>(sum, ak::Sum());
  if (lane == 0 && row < rows) y[row] = static_cast<scalar_t>(sum);
}
