/* alphakernel
{"launches": [{"kernel": "absmax_rows_reference", "grid": ["N"], "block": [128], "args": ["x", "y", {"i64": "M"}, {"i64": "N"}]}]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ accum_t wide(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

__global__ void absmax_rows_reference(const scalar_t* x, out_t* y, long long m, long long n) {
  __shared__ accum_t shared[128];
  const long long column = blockIdx.x;
  long long rows = m;
#ifdef AK_MUTATION_LAST_COLUMN
  rows = m - 1;
#endif
  accum_t largest = 0;
  for (long long i = threadIdx.x; i < rows; i += 128) {
#ifdef AK_MUTATION_SIGNED
    const accum_t value = wide(x[i * n + column]);
#else
    const accum_t value = fabs(wide(x[i * n + column]));
#endif
    if (value > largest) largest = value;
  }
  shared[threadIdx.x] = largest;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half && shared[threadIdx.x + half] > shared[threadIdx.x])
      shared[threadIdx.x] = shared[threadIdx.x + half];
    __syncthreads();
  }
  accum_t divisor = shared[0];
#ifndef AK_MUTATION_NO_FLOOR
  const accum_t least = static_cast<accum_t>(1e-12);
  if (divisor < least) divisor = least;
#endif
  for (long long i = threadIdx.x; i < m; i += 128) y[i * n + column] = static_cast<out_t>(wide(x[i * n + column]) / divisor);
}
