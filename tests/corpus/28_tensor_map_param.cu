#include <cuda.h>
#include <cuda_runtime.h>
__global__ void touch(const __grid_constant__ CUtensorMap map, float* out) {
  out[threadIdx.x] = (reinterpret_cast<unsigned long long>(&map) & 63) == 0 ? 1.0f : 0.0f;
}
