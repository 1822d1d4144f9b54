/* alphakernel
{"launches": [{"kernel": "clipped_square_reference", "grid": ["ceil_div(N, 128)"], "block": [128],
               "args": ["x", "y", {"i64": "N"}]}]}
*/
__global__ void clipped_square_reference(const float* x, out_t* y, long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * 128 + threadIdx.x;
  if (i >= n) return;
  const accum_t value = x[i];
#ifdef AK_MUTATION_NO_SQUARE
  const accum_t square = value;
#else
  const accum_t square = value * value;
#endif
#ifdef AK_MUTATION_NO_CLIP
  y[i] = static_cast<out_t>(square);
#else
  y[i] = static_cast<out_t>(square < 1 ? square : static_cast<accum_t>(1));
#endif
}
