#include <cub/warp/warp_reduce.cuh>
__global__ void warp_sums(const int* x, int* y) {
  using WarpReduce = cub::WarpReduce<int>;
  __shared__ WarpReduce::TempStorage storage[4];
  int sum = WarpReduce(storage[threadIdx.x / 32]).Sum(x[threadIdx.x]);
  if (threadIdx.x % 32 == 0) y[threadIdx.x / 32] = sum;
}
