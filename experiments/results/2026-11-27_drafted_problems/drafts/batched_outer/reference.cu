/* alphakernel
{"launches": [{"kernel": "batched_outer_reference", "grid": ["ceil_div(B * M * N, 128)"], "block": [128], "args": ["a", "b", "y", {"i64": "B * M * N"}, {"i64": "M"}, {"i64": "N"}]}]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ accum_t wide(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

__global__ void batched_outer_reference(const scalar_t* a, const scalar_t* b, out_t* y, long long count, long long m,
                                        long long n) {
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= count) return;
  const long long item = i / (m * n);
#ifdef AK_MUTATION_TRANSPOSED
  const long long row = i % m, column = i / m % n;
#else
  const long long row = i / n % m, column = i % n;
#endif
#ifdef AK_MUTATION_FIRST
  const accum_t right = wide(b[column]);
#else
  const accum_t right = wide(b[item * n + column]);
#endif
#ifdef AK_MUTATION_SUM
  y[i] = static_cast<out_t>(wide(a[item * m + row]) + right);
#else
  y[i] = static_cast<out_t>(wide(a[item * m + row]) * right);
#endif
}
