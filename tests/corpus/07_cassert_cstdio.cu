#include <cassert>
#include <cstdio>
__global__ void report(const float* x) {
  assert(x != nullptr);
  if (threadIdx.x == 0) std::printf("%f\n", x[0]);
}
