// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [128], "args": [{"in": 128}, {"out": 128}], "shared_bytes": 256}
extern "C" __global__ void k(const float* x, float* y) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = x[threadIdx.x];  // FAULT out_of_bounds
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x];  // ALSO out_of_bounds
}
