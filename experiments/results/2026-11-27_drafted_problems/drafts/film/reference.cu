/* alphakernel
{"launches": [{"kernel": "film_reference", "grid": ["ceil_div(B * C * P, 128)"], "block": [128], "args": ["x", "gamma", "beta", "y", {"i64": "B * C * P"}, {"i64": "C"}, {"i64": "P"}]}]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ accum_t wide(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

__global__ void film_reference(const scalar_t* x, const scalar_t* gamma, const scalar_t* beta, out_t* y,
                               long long count, long long c, long long p) {
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= count) return;
#ifdef AK_MUTATION_FIRST_ITEM
  const long long map = i / p % c;
#else
  const long long map = i / p;
#endif
#ifdef AK_MUTATION_SWAPPED
  accum_t scale = wide(beta[map]), shift = wide(gamma[map]);
#else
  accum_t scale = wide(gamma[map]), shift = wide(beta[map]);
#endif
#ifdef AK_MUTATION_NO_BETA
  shift = 0;
#endif
#ifdef AK_MUTATION_RESIDUAL
  scale += 1;
#endif
  y[i] = static_cast<out_t>(scale * wide(x[i]) + shift);
}
