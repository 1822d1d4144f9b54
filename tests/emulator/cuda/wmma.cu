// Matrix products of one warp: C += A B; A (MxK) and C (MxN) row-major, B (KxN) column-major.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <int M, int N, int K, class In, class Element, class Out>
__device__ void multiply(const In* a, const In* b, Out* c, int k_tiles) {
  wmma::fragment<wmma::matrix_a, M, N, K, Element, wmma::row_major> a_tile;
  wmma::fragment<wmma::matrix_b, M, N, K, Element, wmma::col_major> b_tile;
  wmma::fragment<wmma::accumulator, M, N, K, Out> sum;
  wmma::load_matrix_sync(sum, c, N, wmma::mem_row_major);
  for (int k = 0; k < k_tiles; ++k) {
    wmma::load_matrix_sync(a_tile, a + k * K, k_tiles * K);
    wmma::load_matrix_sync(b_tile, b + k * K, k_tiles * K);
    wmma::mma_sync(sum, a_tile, b_tile, sum);
  }
  wmma::store_matrix_sync(c, sum, N, wmma::mem_row_major);
}

extern "C" __global__ void f16_f32(const __half* a, const __half* b, float* c, int k_tiles) {
  multiply<16, 16, 16, __half, __half, float>(a, b, c, k_tiles);
}
extern "C" __global__ void f16_wide(const __half* a, const __half* b, float* c, int k_tiles) {
  multiply<8, 32, 16, __half, __half, float>(a, b, c, k_tiles);
}
extern "C" __global__ void f16_tall(const __half* a, const __half* b, float* c, int k_tiles) {
  multiply<32, 8, 16, __half, __half, float>(a, b, c, k_tiles);
}
extern "C" __global__ void f16_f16(const __half* a, const __half* b, __half* c, int k_tiles) {
  multiply<16, 16, 16, __half, __half, __half>(a, b, c, k_tiles);
}
extern "C" __global__ void s8(const signed char* a, const signed char* b, int* c, int k_tiles) {
  multiply<16, 16, 16, signed char, signed char, int>(a, b, c, k_tiles);
}
extern "C" __global__ void u8(const unsigned char* a, const unsigned char* b, int* c, int k_tiles) {
  multiply<32, 8, 16, unsigned char, unsigned char, int>(a, b, c, k_tiles);
}
#if __CUDA_ARCH__ >= 800
extern "C" __global__ void bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int k_tiles) {
  multiply<16, 16, 16, __nv_bfloat16, __nv_bfloat16, float>(a, b, c, k_tiles);
}
extern "C" __global__ void tf32(const float* a, const float* b, float* c, int k_tiles) {
  multiply<16, 16, 8, float, wmma::precision::tf32, float>(a, b, c, k_tiles);
}
extern "C" __global__ void f64(const double* a, const double* b, double* c, int k_tiles) {
  multiply<8, 8, 4, double, double, double>(a, b, c, k_tiles);
}
#endif

// Through shared memory, B row-major, with work on the elements of the accumulator: C = max(A B, 0).
extern "C" __global__ void from_shared(const __half* a, const __half* b, float* c) {
  __shared__ __half tile_a[16 * 24], tile_b[16 * 24];
  __shared__ float result[16 * 20];
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += 32) {
    tile_a[i / 16 * 24 + i % 16] = a[i];
    tile_b[i / 16 * 24 + i % 16] = b[i];
  }
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a_tile;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b_tile;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(a_tile, tile_a, 24);
  wmma::load_matrix_sync(b_tile, tile_b, 24);
  wmma::mma_sync(sum, a_tile, b_tile, sum);
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] > 0.0f ? sum.x[i] : 0.0f;
  wmma::store_matrix_sync(result, sum, 20, wmma::mem_row_major);
  __syncwarp();
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += 32) c[i] = result[i / 16 * 20 + i % 16];
}
