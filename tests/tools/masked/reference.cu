/* alphakernel
{"launches": [{"kernel": "reference", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "mask", "y", "positive", {"i64": "N"}]}]}
*/
// SPDX-License-Identifier: Apache-2.0
// 3 x where a mask holds, and where that is positive.
#ifdef AK_EXACT
using flag_t = long long;
#else
using flag_t = bool;
#endif
__global__ void reference(const scalar_t* x, const bool* mask, out_t* y, flag_t* positive, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
#ifdef AK_MUTATION_NO_MASK
  const bool holds = true;
#else
  const bool holds = mask[i];
#endif
  accum_t value = holds ? 3 * static_cast<accum_t>(x[i]) : 0;
#ifdef AK_MUTATION_INEXACT
  value = nextafterf(value, 100.0f);
#endif
  y[i] = static_cast<out_t>(value);
  positive[i] = holds && static_cast<accum_t>(x[i]) > 0;
}
