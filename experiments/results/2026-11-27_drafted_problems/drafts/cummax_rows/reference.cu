/* alphakernel
{"launches": [{"kernel": "cummax_rows_reference", "grid": ["ceil_div(M, 32)"], "block": [32], "args": ["x", "y", {"i64": "M"}, {"i64": "N"}]}]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ accum_t wide(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

// One thread a row.
__global__ void cummax_rows_reference(const scalar_t* x, out_t* y, long long m, long long n) {
  const long long row = blockIdx.x * 32ll + threadIdx.x;
  if (row >= m) return;
  accum_t largest = wide(x[row * n]);
#ifdef AK_MUTATION_FROM_ZERO
  largest = 0;
#endif
#ifdef AK_MUTATION_WHOLE_ROW
  for (long long i = 0; i < n; ++i) largest = wide(x[row * n + i]) > largest ? wide(x[row * n + i]) : largest;
#endif
  for (long long i = 0; i < n; ++i) {
    const accum_t value = wide(x[row * n + i]);
#ifdef AK_MUTATION_EXCLUSIVE
    y[row * n + i] = static_cast<out_t>(largest);
    if (value > largest) largest = value;
#else
    if (value > largest) largest = value;
    y[row * n + i] = static_cast<out_t>(largest);
#endif
  }
}
