/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(M, 128)"], "block": [128],
     "args": ["x", "y", {"i64": "M"}, {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Softmax with a row a thread: neighbouring threads are a row apart.
__global__ void k(const float* x, float* y, long long m, long long n) {
  const long long row = blockIdx.x * 128LL + threadIdx.x;
  if (row >= m) return;
  float most = -INFINITY, sum = 0;
  for (long long i = 0; i < n; ++i) most = fmaxf(most, x[row * n + i]);
  for (long long i = 0; i < n; ++i) sum += expf(x[row * n + i] - most);
  for (long long i = 0; i < n; ++i) y[row * n + i] = expf(x[row * n + i] - most) / sum;
}
