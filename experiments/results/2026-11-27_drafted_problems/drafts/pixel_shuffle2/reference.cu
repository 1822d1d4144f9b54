/* alphakernel
{"launches": [{"kernel": "pixel_shuffle2_reference", "grid": ["ceil_div(4 * C * H * W, 128)"], "block": [128], "args": ["x", "y", {"i64": "4 * C * H * W"}, {"i64": "C"}, {"i64": "H"}, {"i64": "W"}]}]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ accum_t wide(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

__global__ void pixel_shuffle2_reference(const scalar_t* x, out_t* y, long long count, long long c, long long h,
                                         long long w) {
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= count) return;
  const long long channel = i / (4 * h * w), row = i / (2 * w) % (2 * h), column = i % (2 * w);
  long long part = 2 * (row % 2) + column % 2;
#ifdef AK_MUTATION_SWAPPED
  part = 2 * (column % 2) + row % 2;
#endif
#ifdef AK_MUTATION_BLOCKS
  const long long from = part * c + channel;
#else
  const long long from = 4 * channel + part;
#endif
#ifdef AK_MUTATION_COPY
  y[i] = static_cast<out_t>(wide(x[i]));
#else
  y[i] = static_cast<out_t>(wide(x[(from * h + row / 2) * w + column / 2]));
#endif
}
