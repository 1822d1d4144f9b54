#include <cuda_pipeline.h>
__global__ void copy_async(const int4* in, int4* out) {
  __shared__ int4 tile[128];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(int4));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[127 - threadIdx.x];
}
