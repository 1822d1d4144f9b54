// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [32], "args": [{"out": 32}, {"zero": 1}], "budget": 200000}
extern "C" __global__ void k(float* y, volatile int* flag) {
  if (threadIdx.x == 0) {
    while (*flag == 0) {  // FAULT instruction_budget
    }
  }
  __syncwarp();  // FAULT instruction_budget
  y[threadIdx.x] = 1;
}
