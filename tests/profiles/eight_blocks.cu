/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": [8], "block": [256], "args": ["a", "b", "c", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Adds with eight blocks, whatever the size.
__global__ void k(const float* a, const float* b, float* c, long long n) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += 8 * 256) c[i] = a[i] + b[i];
}
