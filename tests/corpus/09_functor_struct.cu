struct SumSquares {
  float total = 0;
  void add(float v) { total += v * v; }
  float operator()() const { return total; }
  SumSquares& operator+=(const SumSquares& o) { total += o.total; return *this; }
};
__global__ void norm(const float* x, float* out, int n) {
  SumSquares s;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s.add(x[i]);
  out[threadIdx.x] = sqrtf(s());
}
