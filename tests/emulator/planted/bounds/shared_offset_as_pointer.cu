// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [256], "args": [{"in": 256}, {"out": 256}]}
// An offset in shared memory used as a pointer.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[1024];
  for (int i = threadIdx.x; i < 1024; i += 256) tile[i] = x[threadIdx.x];
  __syncthreads();
#ifdef FIXED
  const float* from = tile + 512;
#else
  const float* from = reinterpret_cast<const float*>(static_cast<unsigned long long>(ADDR(tile + 512)));
#endif
  y[threadIdx.x] = *const_cast<const volatile float*>(from + threadIdx.x);  // FAULT out_of_bounds
}
