#define WARP_SIZE 32
__inline__ __device__ float warp_reduce_sum(float v) {
#pragma unroll
  for (int o = WARP_SIZE / 2; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}
__global__ void sum(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float partial[32];
  float v = 0.f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += __ldg(&x[i]);
  v = warp_reduce_sum(v);
  if ((threadIdx.x & 31) == 0) partial[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.f;
    v = warp_reduce_sum(v);
    if (threadIdx.x == 0) atomicAdd(y, v);
  }
}
