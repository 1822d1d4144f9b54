/* alphakernel
{
  "workspace": [{"name": "partial", "dtype": "float32", "count": "ceil_div(N, 49152) * 256"}],
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 49152)"], "block": [256], "args": ["x", "partial", {"i64": "N"}]},
    {"kernel": "finish", "grid": [1], "block": [256],
     "args": ["partial", "y", {"i32": "ceil_div(N, 49152) * 256"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Sums with 192 values in registers that a thread keeps to the end, and loads that wait for each other: where the
// next one lies depends on the last.
constexpr int kValues = 192;

__global__ void __launch_bounds__(256) k(const float* x, float* partial, long long n) {
  float kept[kValues];
  long long i = blockIdx.x * 256LL * kValues + threadIdx.x;
#pragma unroll
  for (int j = 0; j < kValues; ++j) {
    kept[j] = i < n ? x[i] : 0.0f;
    i += 256 + (kept[j] == 1.2345e30f);  // never
  }
  // In pairs from both ends: nothing can be added up before the last value is there.
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kValues / 2; ++j) sum += kept[j] + kept[kValues - 1 - j];
  partial[blockIdx.x * 256 + threadIdx.x] = sum;
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
