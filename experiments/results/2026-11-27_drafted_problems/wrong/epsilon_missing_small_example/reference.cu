/* alphakernel
{"launches": [{"kernel": "scaled_rms_rows_reference", "grid": ["ceil_div(M, 32)"], "block": [32], "args": ["x", "scale", "y", {"i64": "M"}, {"i64": "N"}]}]}
*/
#include <cuda_bf16.h>

static __device__ accum_t wide(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

// One thread a row.
__global__ void scaled_rms_rows_reference(const scalar_t* x, const scalar_t* scale, out_t* y, long long m, long long n) {
  const long long row = blockIdx.x * 32ll + threadIdx.x;
  if (row >= m) return;
  accum_t sum = 0;
  for (long long i = 0; i < n; ++i) sum += wide(x[row * n + i]) * wide(x[row * n + i]);
#ifdef AK_MUTATION_SUM
  accum_t divisor = sum;
#else
  accum_t divisor = sum / static_cast<accum_t>(n);
#endif
#ifndef AK_MUTATION_NO_ROOT
  divisor = sqrt(divisor);
#endif
  for (long long i = 0; i < n; ++i) {
    const accum_t normal = wide(x[row * n + i]) / divisor;
#ifdef AK_MUTATION_NO_SCALE
    y[row * n + i] = static_cast<out_t>(normal);
#else
    y[row * n + i] = static_cast<out_t>(normal * wide(scale[i]));
#endif
  }
}
