// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 64}, {"out": 32}]}
extern "C" __global__ void k(const unsigned short* x, unsigned* y) {
  y[threadIdx.x] = *reinterpret_cast<const unsigned*>(x + threadIdx.x);  // FAULT misaligned
}
