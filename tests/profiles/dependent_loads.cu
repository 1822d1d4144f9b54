/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies, with 32 loads a warp from L2 next to it that wait for each other: where the next one lies depends on
// the last. A load is of one word for the whole warp, so that neither L2 nor device memory has much to do.
constexpr unsigned kWindow = 1 << 20;  // floats, 4 MB: stay in L2

__global__ void k(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const unsigned mask = n >= kWindow ? kWindow - 1 : 0;
  unsigned at = unsigned(i / 32) * 2656 & mask;
  float value = 0;
#pragma unroll 1
  for (int step = 0; step < 32; ++step) {
    value = __ldcg(x + at);
    at = at + 1056 + (value == 1.2345e30f) & mask;  // never
  }
  y[i] = value == 1.2345e30f ? 0 : x[i] < 0 ? 0.0f : x[i];
}
