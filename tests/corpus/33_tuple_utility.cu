#include <tuple>
#include <utility>
__device__ std::pair<float, int> argmax(std::pair<float, int> a, std::pair<float, int> b) { return a.first >= b.first ? a : b; }
__global__ void arg_max(const float* x, int* out, int n) {
  std::pair<float, int> best{x[0], 0};
  for (int i = 1; i < n; ++i) best = argmax(best, {x[i], i});
  auto t = std::make_tuple(best.second, best.first);
  out[0] = std::get<0>(std::move(t));
}
