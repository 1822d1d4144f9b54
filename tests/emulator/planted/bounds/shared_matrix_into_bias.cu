// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [16, 16], "args": [{"in": 256}, {"out": 256}, {"i32": 16}]}
// A tile whose rows are padded where it is stored to, and not where it is declared.
extern "C" __global__ void k(const float* x, float* y, int n) {
#ifdef FIXED
  __shared__ float tile[16 * 17];
#else
  __shared__ float tile[16 * 16];
#endif
  __shared__ float bias[16];
  const int c = threadIdx.x, r = threadIdx.y;
  if (r == 0) bias[c] = 1.0f;
  __syncthreads();
  tile[r * (n + 1) + c] = x[r * 16 + c];  // FAULT out_of_bounds
  __syncthreads();
  y[c * 16 + r] = tile[c * (n + 1) + r] + bias[c];  // FAULT out_of_bounds
}
