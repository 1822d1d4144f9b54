namespace kernels { namespace detail {
enum class Activation : int { relu, silu };
template <Activation A> __device__ float apply(float x) {
  if constexpr (A == Activation::relu) return x > 0 ? x : 0.f;
  else return x / (1.f + expf(-x));
}
}  // namespace detail
__global__ void silu(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = detail::apply<detail::Activation::silu>(x[threadIdx.x]); }
}  // namespace kernels
