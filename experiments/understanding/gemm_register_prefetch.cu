/* alphakernel
{
  "tunables": {"PARTS": {"values": [1, 2, 4], "default": 2}},
  "constraints": ["dtype == 'float32'", "precision == 'ieee'", "M % 64 == 0 and N % 64 == 0 and K % 32 == 0"],
  "workspace": [{"name": "sums", "dtype": "float32", "count": "PARTS * M * N"}],
  "launches": [
    {"kernel": "gemm_register_prefetch", "grid": ["N // 64", "M // 64", "PARTS"], "block": [256],
     "args": ["a", "b", "sums", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "add_parts", "grid": ["ceil_div(M * N, 1024)"], "block": [256], "args": ["sums", "c", {"i32": "M * N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Float32 products without matrix units: 64 x 64 results for 256 threads, 4 x 4 each. The next slice of k waits in
// registers while this one is used, and goes to the other half of shared memory. Blocks along z have a part of k each;
// a second launch adds the parts.
#ifndef ALPHAKERNEL
constexpr int PARTS = 2;
using scalar_t = float;
#endif

constexpr int DEEP = 8;

__global__ void __launch_bounds__(256, 2)
    gemm_register_prefetch(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ sums, int m, int n, int k) {
  __shared__ float slice_a[2][DEEP][64 + 4], slice_b[2][DEEP][64];
  const int t = threadIdx.x, own = k / PARTS, first = blockIdx.z * own;
  const int row = t / 16 * 4, column = t % 16 * 4;
  a += (long long)blockIdx.y * 64 * k + first;
  b += (long long)first * n + blockIdx.x * 64;
  // Half of the threads fetch a, the other half b.
  const bool of_a = t < 128;
  const int u = t % 128;
  auto fetch = [&](int from) {
    return of_a ? *reinterpret_cast<const float4*>(a + (long long)(u / 2) * k + from + u % 2 * 4)
                : *reinterpret_cast<const float4*>(b + (long long)(from + u / 16) * n + u % 16 * 4);
  };
  auto put = [&](int half, float4 v) {
    if (of_a) {
      slice_a[half][u % 2 * 4 + 0][u / 2] = v.x;
      slice_a[half][u % 2 * 4 + 1][u / 2] = v.y;
      slice_a[half][u % 2 * 4 + 2][u / 2] = v.z;
      slice_a[half][u % 2 * 4 + 3][u / 2] = v.w;
    } else {
      *reinterpret_cast<float4*>(&slice_b[half][u / 16][u % 16 * 4]) = v;
    }
  };
  float acc[4][4] = {};
  put(0, fetch(0));
  __syncthreads();
  int half = 0;
  for (int at = 0; at < own; at += DEEP) {
    float4 next = make_float4(0, 0, 0, 0);
    if (at + DEEP < own) next = fetch(at + DEEP);
#pragma unroll
    for (int d = 0; d < DEEP; ++d) {
      const float4 x = *reinterpret_cast<const float4*>(&slice_a[half][d][row]);
      const float4 y = *reinterpret_cast<const float4*>(&slice_b[half][d][column]);
      const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] += xs[i] * ys[j];
    }
    half ^= 1;
    put(half, next);
    __syncthreads();
  }
  float* to = sums + ((long long)blockIdx.z * m + blockIdx.y * 64 + row) * n + blockIdx.x * 64 + column;
#pragma unroll
  for (int i = 0; i < 4; ++i) *reinterpret_cast<float4*>(to + (long long)i * n) = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}

__global__ void add_parts(const float* __restrict__ sums, float* __restrict__ c, int count) {
  const int i = (blockIdx.x * 256 + threadIdx.x) * 4;
  if (i >= count) return;
  float4 total = *reinterpret_cast<const float4*>(sums + i);
  for (int p = 1; p < PARTS; ++p) {
    const float4 part = *reinterpret_cast<const float4*>(sums + (long long)p * count + i);
    total.x += part.x, total.y += part.y, total.z += part.z, total.w += part.w;
  }
  *reinterpret_cast<float4*>(c + i) = total;
}
