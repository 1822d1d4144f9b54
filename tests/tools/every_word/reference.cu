/* alphakernel
{ "launches": [
    {"kernel": "rows", "grid": ["B"], "block": [1],
     "args": ["x", "w", "v", "q", "lengths", "bin", "mask", "eps", "gain", "shift", "step", "flip",
              "y", "sums", "chosen", "counts", "packed", {"optional": "norm"}, {"i64": "S"}, {"i64": "OUT"}, {"i64": "H"}]},
    {"kernel": "add_up", "grid": [1], "block": [1], "args": ["y", "total", {"i64": "B * OUT"}]}] }
*/
#include <cuda_fp16.h>
#include <cuda_fp8.h>

__device__ int value_of(unsigned char nibble) { return nibble < 8 ? nibble : nibble - 16; }

__global__ void rows(const float* x, const __nv_fp8_e4m3* w, const __nv_fp8_e5m2* v, const unsigned char* q,
                     const int* lengths, const long long* bin, const bool* mask, float eps, double gain,
                     long long shift, int step, bool flip, out_t_y* y, out_t_sums* sums, out_t_chosen* chosen,
                     out_t_counts* counts, out_t_packed* packed, out_t_norm* norm, long long s, long long out,
                     long long h) {
  const long long b = blockIdx.x;
#ifdef AK_MUTATION_NO_EPS
  eps = 0;
#endif
#ifdef AK_MUTATION_NO_SHIFT
  shift = 0;
#endif
  accum_t squares = 0;
  for (long long o = 0; o < out; ++o) {
    accum_t sum = 0;
    for (int r = 0; r < R && o < lengths[b]; ++r)
      sum += static_cast<accum_t>(x[b * s + o + r]) *
             (static_cast<accum_t>(static_cast<float>(w[r])) + static_cast<accum_t>(static_cast<float>(v[r])));
    sum = sum * static_cast<accum_t>(gain) / (static_cast<accum_t>(1) + static_cast<accum_t>(eps));
    y[b * out + o] = static_cast<out_t_y>(sum);
    squares += sum * sum;
  }
  long long values = shift;
  for (long long i = 0; i < h; ++i) values += value_of(q[b * h + i] & 15) + value_of(q[b * h + i] >> 4);
  sums[b] = values;
  chosen[b] = mask[b] != flip;
  atomicAdd(reinterpret_cast<unsigned int*>(counts + bin[b]), static_cast<unsigned int>(lengths[b] * step));
  packed[b] = static_cast<out_t_packed>((lengths[b] & 15) | static_cast<int>(bin[b] & 15) << 4);
  if (norm != nullptr) norm[b] = static_cast<out_t_norm>(sqrt(squares));
}

__global__ void add_up(const out_t_y* y, out_t_total* total, long long count) {
  accum_t sum = 0;
  for (long long i = 0; i < count; ++i) sum += static_cast<accum_t>(y[i]) * static_cast<accum_t>(y[i]);
  *total = static_cast<out_t_total>(sum);
}
