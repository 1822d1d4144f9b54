/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(C, 32)", "ceil_div(R, 32)"], "block": [32, 8],
     "args": ["x", "y", {"i64": "R"}, {"i64": "C"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Transposes with stores down the columns: every thread of a warp writes four bytes of a line of its own.
__global__ void k(const float* x, float* y, long long rows, long long columns) {
  const long long c = blockIdx.x * 32LL + threadIdx.x;
  for (int step = 0; step < 32; step += 8) {
    const long long r = blockIdx.y * 32LL + threadIdx.y + step;
    if (r < rows && c < columns) y[c * rows + r] = x[r * columns + c];
  }
}
