// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [128], "args": [{"in": 128}, {"zero": 8}]}
// One block counts values, without atomics.
extern "C" __global__ void k(const float* x, int* counts) {
  const int bin = static_cast<int>(x[threadIdx.x] * 4.0f) % 8;
#ifdef FIXED
  atomicAdd(&counts[bin], 1);
#else
  ++counts[bin];  // FAULT global_race
#endif
}
