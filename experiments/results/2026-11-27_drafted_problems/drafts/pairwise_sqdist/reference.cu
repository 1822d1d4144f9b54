/* alphakernel
{"launches": [{"kernel": "pairwise_sqdist_reference", "grid": ["ceil_div(M * N, 128)"], "block": [128], "args": ["a", "b", "y", {"i64": "M"}, {"i64": "N"}, {"i64": "D"}]}]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ accum_t wide(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

__global__ void pairwise_sqdist_reference(const scalar_t* a, const scalar_t* b, out_t* y, long long m, long long n,
                                          long long d) {
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= m * n) return;
  const long long from = i / n, to = i % n;
  long long coordinates = d;
#ifdef AK_MUTATION_LAST
  coordinates = d - 1;
#endif
  accum_t sum = 0;
  for (long long k = 0; k < coordinates; ++k) {
#ifdef AK_MUTATION_ADDED
    const accum_t difference = wide(a[from * d + k]) + wide(b[to * d + k]);
#else
    const accum_t difference = wide(a[from * d + k]) - wide(b[to * d + k]);
#endif
#ifdef AK_MUTATION_MAGNITUDE
    sum += fabs(difference);
#else
    sum += difference * difference;
#endif
  }
  y[i] = static_cast<out_t>(sum);
}
