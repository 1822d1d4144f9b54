/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 1024)"], "block": [256], "args": ["a", "b", "c", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Adds by vectors of 16 bytes, as it should be done.
__global__ void k(const float* a, const float* b, float* c, long long n) {
  const long long i = (blockIdx.x * 256LL + threadIdx.x) * 4;
  if (i + 3 < n) {
    const float4 left = *reinterpret_cast<const float4*>(a + i), right = *reinterpret_cast<const float4*>(b + i);
    *reinterpret_cast<float4*>(c + i) =
        make_float4(left.x + right.x, left.y + right.y, left.z + right.z, left.w + right.w);
  } else {
    for (long long j = i; j < n; ++j) c[j] = a[j] + b[j];
  }
}
