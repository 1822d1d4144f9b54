#include <stdio.h>
#include <assert.h>
__global__ void checked(const int* x, int n) {
  int i = threadIdx.x;
  assert(i < n && "index in range");
  if (x[i] < 0) printf("negative at %d: %d\n", i, x[i]);
}
