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
// Transposes through a tile of 32 x 32 without padding: a column of it lies in one bank.
__global__ void k(const float* x, float* y, long long rows, long long columns) {
  __shared__ float tile[32][32];
  const long long c0 = blockIdx.x * 32LL, r0 = blockIdx.y * 32LL;
  for (int i = threadIdx.y; i < 32; i += 8) {
    const long long r = r0 + i, c = c0 + threadIdx.x;
    if (r < rows && c < columns) tile[i][threadIdx.x] = x[r * columns + c];
  }
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8) {
    const long long r = r0 + threadIdx.x, c = c0 + i;
    if (r < rows && c < columns) y[c * rows + r] = tile[threadIdx.x][i];
  }
}
