/* alphakernel
{"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "mask", "y", "positive", {"i64": "N"}]}]}
*/
// SPDX-License-Identifier: Apache-2.0
__global__ void k(const scalar_t* x, const bool* mask, scalar_t* y, bool* positive, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float value = mask[i] ? 3 * static_cast<float>(x[i]) : 0.0f;
  y[i] = static_cast<scalar_t>(value);
  positive[i] = value > 0;
}
