/* alphakernel
{ "tunables": {"BLOCK": {"values": [32, 64], "default": 32}},
  "launches": [
    {"kernel": "convolve", "grid": ["B"], "block": ["BLOCK"],
     "args": ["x", "w", "v", "lengths", "eps", "gain", "y", {"i64": "S"}, {"i64": "OUT"}]},
    {"kernel": "by_products", "grid": ["B"], "block": [32],
     "args": ["q", "lengths", "bin", "mask", "shift", "step", "flip", "y", "sums", "chosen", "counts", "packed",
              {"optional": "norm"}, {"i64": "OUT"}, {"i64": "H"}]},
    {"kernel": "add_up", "grid": [1], "block": [32], "args": ["y", "total", {"i64": "B * OUT"}]}] }
*/
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifndef ALPHAKERNEL
constexpr int BLOCK = 32, R = 3;
#endif

__device__ float warp_sum(float sum) {
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lane);
  return sum;
}

__global__ void convolve(const float* x, const __nv_fp8_e4m3* w, const __nv_fp8_e5m2* v, const int* lengths,
                         float eps, double gain, float* y, long long s, long long out) {
  const long long b = blockIdx.x;
  const float factor = static_cast<float>(gain) / (1 + eps);
  for (long long o = threadIdx.x; o < out; o += BLOCK) {
    float sum = 0;
    for (int r = 0; r < R && o < lengths[b]; ++r)
      sum += x[b * s + o + r] * (static_cast<float>(w[r]) + static_cast<float>(v[r]));
    y[b * out + o] = sum * factor;
  }
}

__global__ void by_products(const unsigned char* q, const int* lengths, const long long* bin, const bool* mask,
                            long long shift, int step, bool flip, const float* y, long long* sums, bool* chosen,
                            int* counts, unsigned char* packed, __half* norm, long long out, long long h) {
  const long long b = blockIdx.x;
  int values = 0;
  for (long long i = threadIdx.x; i < h; i += 32) {
    const int low = q[b * h + i] & 15, high = q[b * h + i] >> 4;
    values += (low ^ 8) - 8 + (high ^ 8) - 8;
  }
  for (int lane = 16; lane > 0; lane /= 2) values += __shfl_down_sync(0xffffffffu, values, lane);
  float squares = 0;
  for (long long o = threadIdx.x; o < out; o += 32) squares += y[b * out + o] * y[b * out + o];
  squares = warp_sum(squares);
  if (threadIdx.x != 0) return;
  sums[b] = values + shift;
  chosen[b] = mask[b] != flip;
  atomicAdd(counts + bin[b], lengths[b] * step);
  packed[b] = static_cast<unsigned char>((lengths[b] & 15) | static_cast<int>(bin[b]) << 4);
  if (norm != nullptr) norm[b] = __float2half(sqrtf(squares));
}

__global__ void add_up(const float* y, float* total, long long count) {
  float sum = 0;
  for (long long i = threadIdx.x; i < count; i += 32) sum += y[i] * y[i];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) *total = sum;
}
