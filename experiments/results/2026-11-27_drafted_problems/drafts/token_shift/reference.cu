/* alphakernel
{"launches": [{"kernel": "token_shift_reference", "grid": ["ceil_div(B * T * C, 128)"], "block": [128], "args": ["x", "mu", "y", {"i64": "B * T * C"}, {"i64": "T"}, {"i64": "C"}]}]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ accum_t wide(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

__global__ void token_shift_reference(const scalar_t* x, const scalar_t* mu, out_t* y, long long count, long long t,
                                      long long c) {
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= count) return;
  const long long token = i / c % t;
  const accum_t share = wide(mu[i % c]), one = 1;
#if defined(AK_MUTATION_NEXT)
  const accum_t other = token + 1 < t ? wide(x[i + c]) : static_cast<accum_t>(0);
#elif defined(AK_MUTATION_ACROSS)
  const accum_t other = i >= c ? wide(x[i - c]) : static_cast<accum_t>(0);
#else
  const accum_t other = token > 0 ? wide(x[i - c]) : static_cast<accum_t>(0);
#endif
#ifdef AK_MUTATION_SWAPPED
  y[i] = static_cast<out_t>((one - share) * wide(x[i]) + share * other);
#else
  y[i] = static_cast<out_t>(share * wide(x[i]) + (one - share) * other);
#endif
}
