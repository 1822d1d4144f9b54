/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["2 * SM_COUNT + 2"], "block": [1024], "args": ["a", "b", "c", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Adds with two blocks more than fit at once: the whole device waits for them.
__global__ void __launch_bounds__(1024) k(const float* a, const float* b, float* c, long long n) {
  const long long part = (n + gridDim.x - 1) / gridDim.x;
  const long long begin = blockIdx.x * part, end = begin + part < n ? begin + part : n;
  for (long long i = begin + threadIdx.x; i < end; i += 1024) c[i] = a[i] + b[i];
}
