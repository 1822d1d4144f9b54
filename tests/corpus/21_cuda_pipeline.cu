#include <cuda/pipeline>
__global__ void prefetch(const float4* g, float4* out, int n) {
  extern __shared__ float4 buffer[];
  auto pipe = cuda::make_pipeline();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    pipe.producer_acquire();
    cuda::memcpy_async(&buffer[threadIdx.x], &g[i], cuda::aligned_size_t<16>(16), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    out[i] = buffer[threadIdx.x];
    pipe.consumer_release();
  }
}
