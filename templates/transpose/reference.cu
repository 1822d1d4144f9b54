/* alphakernel
{
  "launches": [
    {"kernel": "transpose_reference", "grid": ["ceil_div(C, 32)", "min(ceil_div(R, 32), 65535)"], "block": [32, 8],
     "args": ["x", "y", {"i64": "R"}, {"i64": "C"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[c, r] = x[r, c], one element a thread at a time.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

__global__ void transpose_reference(const scalar_t* x, out_t* y, long long rows, long long columns) {
  const long long c = blockIdx.x * 32ll + threadIdx.x;
  if (c >= columns) return;
  for (long long r = blockIdx.y * 8ll + threadIdx.y; r < rows; r += gridDim.y * 8ll) {
    long long from = r * columns + c;
#if defined(AK_MUTATION_COPY)
    from = c * rows + r;
#elif defined(AK_MUTATION_NEIGHBOURS)
    if (c % 32 < 2 && (c ^ 1) < columns) from = r * columns + (c ^ 1);
#endif
    out_t value = static_cast<out_t>(static_cast<float>(x[from]));
#ifdef AK_MUTATION_LAST_TILE
    if (c >= columns - (columns < 32 ? columns : 32)) value = static_cast<out_t>(0.0f);
#endif
    y[c * rows + r] = value;
  }
}
