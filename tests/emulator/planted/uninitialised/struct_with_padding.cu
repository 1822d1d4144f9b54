// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 192}]}
// Copies of a struct carry its padding along; a field that was forgotten is another matter.
struct Item {
  char tag;
  int count;
  double value;
  int next;
};
extern "C" __global__ void k(const float* x, Item* y) {
  __shared__ Item items[32];
  const int i = threadIdx.x;
  items[i].tag = 1;
#ifdef FIXED
  items[i].count = i;
#endif
  items[i].value = x[i];
  items[i].next = (i + 1) % 32;
  __syncthreads();
  Item mine = items[31 - i];  // FAULT uninitialized_read
  if (mine.count > 40) mine.value = 0.0;
  y[i] = mine;
}
