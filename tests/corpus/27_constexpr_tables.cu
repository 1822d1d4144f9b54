#include <array>
#include <cstddef>
constexpr int kTile = 32;
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
__constant__ float kWeights[4] = {0.1f, 0.2f, 0.3f, 0.4f};
__global__ void filter(const float* x, float* y, int n) {
  std::array<float, 4> w{};
  for (std::size_t j = 0; j < w.size(); ++j) w[j] = kWeights[j];
  int i = threadIdx.x;
  float s = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) s += w[j] * x[min(i + j, n - 1)];
  y[i] = s * ceil_div(n, kTile);
}
