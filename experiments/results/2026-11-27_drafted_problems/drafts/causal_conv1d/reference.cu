/* alphakernel
{"launches": [{"kernel": "causal_conv1d_reference", "grid": ["ceil_div(B * C * T, 128)"], "block": [128], "args": ["x", "weight", "bias", "y", {"i64": "B * C * T"}, {"i64": "C"}, {"i64": "T"}]}]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ accum_t wide(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

__global__ void causal_conv1d_reference(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, out_t* y,
                                        long long count, long long c, long long t) {
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= count) return;
  const long long channel = i / t % c, time = i % t;
#ifdef AK_MUTATION_NO_BIAS
  accum_t sum = 0;
#else
  accum_t sum = wide(bias[channel]);
#endif
#ifdef AK_MUTATION_FIRST
  for (int k = 1; k < 4; ++k) {
#else
  for (int k = 0; k < 4; ++k) {
#endif
#ifdef AK_MUTATION_CENTRED
    const long long at = time - 1 + k;
#else
    const long long at = time - 3 + k;
#endif
#ifdef AK_MUTATION_FLIPPED
    const accum_t tap = wide(weight[channel * 4 + 3 - k]);
#else
    const accum_t tap = wide(weight[channel * 4 + k]);
#endif
    if (at >= 0 && at < t) sum += tap * wide(x[i - time + at]);
  }
  y[i] = static_cast<out_t>(sum);
}
