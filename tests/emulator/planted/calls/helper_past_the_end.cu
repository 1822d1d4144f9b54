// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}, {"i32": 64}]}
struct Row {
  float* data;
  int length;
};

__device__ __noinline__ void store(Row row, int i, float value) {
  row.data[i] = value;  // FAULT out_of_bounds
}

__device__ __noinline__ void store_pair(Row row, int i, float value) {
  store(row, i, value);
#ifdef FIXED
  if (i + 1 < row.length)
#endif
    store(row, i + 1, value);
}

extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i % 2 == 1) store_pair({y, n}, i, x[i]);
}
