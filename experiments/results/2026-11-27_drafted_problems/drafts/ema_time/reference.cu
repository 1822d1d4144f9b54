/* alphakernel
{"launches": [{"kernel": "ema_time_reference", "grid": ["ceil_div(C, 32)"], "block": [32], "args": ["x", "y", {"i64": "T"}, {"i64": "C"}]}]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ accum_t wide(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

__global__ void ema_time_reference(const scalar_t* x, out_t* y, long long t, long long c) {
  const long long channel = blockIdx.x * 32ll + threadIdx.x;
  if (channel >= c) return;
  const accum_t fresh = static_cast<accum_t>(0.1), old = static_cast<accum_t>(0.9);
#ifdef AK_MUTATION_FROM_ZERO
  accum_t mean = 0;
#else
  accum_t mean = wide(x[channel]);
#endif
  for (long long i = 0; i < t; ++i) {
    const accum_t value = wide(x[i * c + channel]);
#if defined(AK_MUTATION_SWAPPED)
    mean = fresh * mean + old * value;
#elif defined(AK_MUTATION_NO_DECAY)
    mean = mean + fresh * value;
#else
    mean = old * mean + fresh * value;
#endif
    y[i * c + channel] = static_cast<out_t>(mean);
  }
}
