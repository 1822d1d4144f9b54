#include <cstdint>
#include <climits>
#include <stdint.h>
__global__ void hash32(const uint32_t* in, uint64_t* out, int32_t n) {
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t h = in[i];
  h ^= h >> 16; h *= 0x85ebca6bU; h ^= h >> 13;
  out[i] = (h == UINT32_MAX) ? UINT64_MAX : (std::uint64_t)h + INT_MAX + (uintptr_t)in % 2;
}
