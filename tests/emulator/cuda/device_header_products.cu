// SPDX-License-Identifier: Apache-2.0
// Products of the device headers by element type: device_header_products_test.cpp knows what they give. Operands are bytes as
// they lie in memory, 32 of each line along k.
#include <ak/barriers.cuh>
#include <ak/fragments.cuh>
#include <ak/mma.cuh>
#include <ak/plain_product.cuh>
#include <ak/ragged.cuh>
#include <ak/swizzle.cuh>
#include <ak/wgmma_fp8.cuh>
#include <ak/wgmma_int8.cuh>
#include <ak/wgmma_pipeline.cuh>
#include <ak/wgmma_tf32.cuh>

// c (16 x 8) = a b. a: 16 lines, b: 8 lines (its columns).
template <class In>
__global__ void mma_product(const unsigned int* a, const unsigned int* b, typename In::Sum* c) {
  __shared__ __align__(16) unsigned int lines_a[16][8];
  const int lane = ak::lane_index();
  for (int i = lane; i < 128; i += 32) lines_a[i / 8][i % 8] = a[i];
  __syncwarp();
  ak::u32 m[4];
  ak::load_matrices(m, ak::shared_address(&lines_a[lane % 16][lane / 16 * 4]));
  typename In::Sum d[4] = {1, 1, 1, 1};
  ak::mma<In>(d, m, b[lane / 4 * 8 + lane % 4], b[lane / 4 * 8 + 4 + lane % 4]);
  for (int i = 0; i < 4; ++i) c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
}

// A 16 x 16 matrix of halves through registers into its transpose.
__global__ void transpose_matrices(const unsigned int* x, unsigned int* y) {
  __shared__ __align__(16) unsigned int from[16][8], to[16][8];
  const int lane = ak::lane_index();
  for (int i = lane; i < 128; i += 32) from[i / 8][i % 8] = x[i];
  __syncwarp();
  ak::u32 m[4];
  ak::load_matrices(m, ak::shared_address(&from[lane % 16][lane / 16 * 4]));
  // The second and the third matrix change places; each is transposed as it is stored.
  ak::store_matrices_transposed(ak::shared_address(&to[lane % 16][lane / 16 * 4]), m[0], m[2], m[1], m[3]);
  __syncwarp();
  for (int i = lane; i < 128; i += 32) y[i] = to[i / 8][i % 8];
}

// c (m x n) = a b, each by rows or, ACROSS the other way, by columns.
template <bool A_ACROSS, bool B_ACROSS>
__global__ void ragged(const __half* a, const __half* b, float* c, int m, int n, int k) {
  ak::ragged_product<__half, A_ACROSS, B_ACROSS>(a, b, m, n, k,
                                                 [&](float sum, int row, int column) { c[row * n + column] = sum; });
}

// The same with both operands by lines along k, one result a thread. Sums take k's number in, to see its order.
__global__ void plain(const __half* a, const __half* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  const int line = blockIdx.x * 16 + threadIdx.y;
  const bool counts = row < m && column < n;
  float sum = 0;
  long long next = 0;
  ak::plain_product<float>(
      k, counts, [&](long long i) { return row < m ? __half2float(a[row * k + i]) : 0.0f; },
      [&](long long i) { return line < n ? __half2float(b[line * k + i]) : 0.0f; },
      [&](long long i, float x, float y) { sum += i == next++ ? x * y : 1e9f; });
  if (counts) c[row * n + column] = next == k ? sum : -1e9f;
}

// Lines of 32 bytes into lines of 128 swizzled ones: the first quarter of each.
__device__ void put_lines(unsigned char* tile, const uint4* lines, int count) {
  for (int i = threadIdx.x; i < count * 2; i += blockDim.x)
    *reinterpret_cast<uint4*>(tile + ak::swizzled(i / 2, i % 2)) = lines[i];
}

// c (64 x N) = 2 a b: once with a from shared memory, once more with a from registers. b: N lines.
template <class A, int N, class B = A>
__global__ void wgmma_product(const unsigned int* a, const unsigned int* b, typename A::Sum* c) {
  __shared__ __align__(1024) unsigned char tile_a[64 * 128], tile_b[N * 128];
  put_lines(tile_a, reinterpret_cast<const uint4*>(a), 64);
  put_lines(tile_b, reinterpret_cast<const uint4*>(b), N);
  ak::fence_shared_writes();
  __syncthreads();
  const int lane = ak::lane_index(), row = ak::warp_index() * 16 + lane / 4;
  ak::u32 m[4];
  for (int i = 0; i < 4; ++i) m[i] = a[(row + i % 2 * 8) * 8 + lane % 4 + i / 2 * 4];
  using Product = ak::Wgmma<A, N, false, false, B>;
  typename A::Sum d[N / 2];
  const ak::u64 of_b = ak::wgmma_operand(ak::shared_address(tile_b));
  ak::wgmma_fence();
  Product::multiply(d, ak::wgmma_operand(ak::shared_address(tile_a)), of_b, 0);
  Product::multiply(d, m, of_b);
  ak::wgmma_commit();
  ak::wgmma_wait<0>();
  for (int i = 0; i < N / 2; ++i)
    c[(row + i / 2 % 2 * 8) * N + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
}

// c (64 x 64) = a b with 16 lines of 64 halves each, which lie across k.
template <class In>
__global__ void wgmma_across(const unsigned int* a, const unsigned int* b, float* c) {
  __shared__ __align__(1024) unsigned char tile_a[16 * 128], tile_b[16 * 128];
  for (int i = threadIdx.x; i < 128; i += blockDim.x) {
    *reinterpret_cast<uint4*>(tile_a + ak::swizzled(i / 8, i % 8)) = reinterpret_cast<const uint4*>(a)[i];
    *reinterpret_cast<uint4*>(tile_b + ak::swizzled(i / 8, i % 8)) = reinterpret_cast<const uint4*>(b)[i];
  }
  ak::fence_shared_writes();
  __syncthreads();
  float d[32];
  ak::wgmma_fence();
  ak::Wgmma<In, 64, true, true>::multiply(d, ak::wgmma_operand(ak::shared_address(tile_a), 2048),
                                          ak::wgmma_operand(ak::shared_address(tile_b), 2048), 0);
  ak::wgmma_commit();
  ak::wgmma_wait<0>();
  const int lane = ak::lane_index(), row = ak::warp_index() * 16 + lane / 4;
  for (int i = 0; i < 32; ++i) c[(row + i / 2 % 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
}

// c (m x n) = a b of halves along k, by tiles of 64 x 16: two consumers, together on 128 rows or in turn.
template <bool PINGPONG>
__global__ void pipelined_product(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                                  float* c, int m, int n, int k) {
  using Pipeline = ak::WgmmaPipeline<ak::f16, PINGPONG ? 64 : 128, 16, 2, 3, 1, false, false, PINGPONG>;
  extern __shared__ __align__(1024) unsigned char memory[];
  const ak::u32 slices = (ak::shared_address(memory) + 1023) / 1024 * 1024;
  const ak::PipelineMemory ring = {slices, slices + 3 * Pipeline::kStageBytes, slices + 3 * Pipeline::kStageBytes + 24};
  Pipeline::begin(ring);
  const typename Pipeline::template Grid<2> tiles(m, n);
  const ak::WholeTiles work(blockIdx.x, gridDim.x, tiles.count, (k + 63) / 64);
  const int group = ak::warp_group();
  if (group == 2) {
    if (threadIdx.x % 128 == 0) Pipeline::produce(&map_a, &map_b, ring, tiles, work, 0);
  } else {
    Pipeline::consume(ring, work, group, [&](const typename Pipeline::Sums& sums, const ak::TilePart& part) {
      const ak::ElementPlace at = tiles.place(part.tile, 0);
      const int lane = ak::lane_index(), first = at.row + (PINGPONG ? 0 : group * 64) + threadIdx.x % 128 / 32 * 16;
      for (int i = 0; i < 8; ++i) {
        const int row = first + lane / 4 + i / 2 % 2 * 8, column = at.column + i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (row < m && column < n) c[row * n + column] = sums[0][i];
      }
    });
  }
}
