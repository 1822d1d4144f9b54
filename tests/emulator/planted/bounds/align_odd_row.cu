// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [16], "args": [{"in": 132}, {"out": 64}]}
// Rows of 33 floats are not multiples of 16 bytes.
extern "C" __global__ void k(const float* x, float4* y) {
  const float* row = x + (threadIdx.x % 4) * 33;
  y[threadIdx.x] = *reinterpret_cast<const float4*>(row);  // FAULT misaligned
}
