/* alphakernel
{"launches": [{"kernel": "linear", "grid": ["ceil_div(size_8 * size_4, 64)"], "block": [64],
  "args": ["layer_bias", "layer_weight", "x", "output", {"i64": "size_8"}, {"i64": "size_16"}, {"i64": "size_4"}]}]}
*/
__global__ void linear(const float* bias, const float* weight, const float* x, float* y, long long rows, long long inner,
                       long long columns) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i >= rows * columns) return;
  float sum = bias[i % columns];
  for (long long k = 0; k < inner; ++k) sum += x[i / columns * inner + k] * weight[i % columns * inner + k];
  y[i] = sum < 0 ? 0 : sum;
}
