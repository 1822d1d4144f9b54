/* alphakernel
{
  "workspace": [{"name": "partial", "dtype": "float32", "count": "min(SM_COUNT * 8, ceil_div(N, 1024))"}],
  "launches": [
    {"kernel": "k", "grid": ["min(SM_COUNT * 8, ceil_div(N, 1024))"], "block": [256],
     "args": ["x", "partial", {"i64": "N"}]},
    {"kernel": "finish", "grid": [1], "block": [256],
     "args": ["partial", "y", {"i32": "min(SM_COUNT * 8, ceil_div(N, 1024))"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Sums an array that fits L2 and reads it again 31 times, past L1.
__device__ float part_of(const float* x, long long n, long long first) {
  const long long step = gridDim.x * 1024LL;
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 4
  for (long long i = (first * 256 + threadIdx.x) * 4; i + 3 < n; i += step) {
    const float4 v = __ldcg(reinterpret_cast<const float4*>(x + i));
    sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
  }
  return (sum.x + sum.y) + (sum.z + sum.w);
}

__global__ void __launch_bounds__(256) k(const float* x, float* partial, long long n) {
  __shared__ float sums[256];
  float sum = part_of(x, n, blockIdx.x), least = 0;
  for (int again = 1; again < 32; ++again) {
    least = fminf(least, fabsf(part_of(x, n, (blockIdx.x + again * 37) % gridDim.x)));
  }
  if (blockIdx.x == 0 && threadIdx.x < n % 4) sum += x[n - 1 - threadIdx.x];
  sums[threadIdx.x] = least < 0 ? 0 : sum;  // never below
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
}

__global__ void finish(const float* partial, float* y, int count) {
  __shared__ double sums[256];
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += 256) sum += partial[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *y = float(sums[0]);
}
