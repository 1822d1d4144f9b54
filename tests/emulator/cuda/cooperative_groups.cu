// Groups of threads: tiles, coalesced and labeled groups, the grid and clusters.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

// Every tile: sum, maximum, inclusive and exclusive scan, a shuffle, a vote.
template <int Size>
__device__ void tile(const int* in, int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<Size>(block);
  const unsigned i = block.thread_rank(), n = block.size();
  const int value = in[i];
  out[i] = cg::reduce(tile, value, cg::plus<int>());
  out[n + i] = cg::reduce(tile, value, cg::greater<int>());
  out[2 * n + i] = cg::inclusive_scan(tile, value);
  out[3 * n + i] = cg::exclusive_scan(tile, value, cg::plus<int>());
  out[4 * n + i] = tile.shfl_xor(value, 1);
  out[5 * n + i] = static_cast<int>(tile.ballot(value % 3 == 0));
  out[6 * n + i] = tile.any(value > 90) + 2 * tile.all(value > 10);
  out[7 * n + i] = static_cast<int>(tile.meta_group_rank() * 100 + tile.thread_rank());
  tile.sync();
}

extern "C" __global__ void tiles_32(const int* in, int* out) { tile<32>(in, out); }
extern "C" __global__ void tiles_16(const int* in, int* out) { tile<16>(in, out); }
extern "C" __global__ void tiles_8(const int* in, int* out) { tile<8>(in, out); }
extern "C" __global__ void tiles_4(const int* in, int* out) { tile<4>(in, out); }

// A tile of two warps meets through shared memory.
extern "C" __global__ void tiles_64(const int* in, int* out) {
  __shared__ cg::block_tile_memory<256> memory;
  const cg::thread_block block = cg::this_thread_block(memory);
  const auto tile = cg::tiled_partition<64>(block);
  const unsigned i = block.thread_rank();
  out[i] = cg::reduce(tile, in[i], cg::plus<int>());
  tile.sync();
  out[block.size() + i] = tile.shfl(in[i], 40);
}

// Odd values form one group, even ones another: out: sum in the group, rank in it, its size.
extern "C" __global__ void coalesced(const int* in, int* out) {
  const unsigned i = threadIdx.x;
  const int value = in[i];
  if (value % 2 != 0) {
    const cg::coalesced_group group = cg::coalesced_threads();
    out[3 * i] = cg::reduce(group, value, cg::plus<int>());
    out[3 * i + 1] = static_cast<int>(group.thread_rank());
    out[3 * i + 2] = static_cast<int>(group.size());
  } else {
    const cg::coalesced_group group = cg::coalesced_threads();
    out[3 * i] = cg::inclusive_scan(group, value, cg::plus<int>());
    out[3 * i + 1] = group.shfl(value, 0);
    out[3 * i + 2] = static_cast<int>(group.size());
  }
}

extern "C" __global__ void labeled(const int* in, int* out) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const unsigned i = threadIdx.x;
  const int value = in[i];
  const cg::coalesced_group group = cg::labeled_partition(warp, value % 5);
  out[2 * i] = cg::reduce(group, value, cg::plus<int>());
  out[2 * i + 1] = static_cast<int>(group.num_threads());
  const cg::coalesced_group half = cg::binary_partition(warp, value > 50);
  out[2 * i] += 1000000 * static_cast<int>(half.size());
}

// One atomic per group of threads that happen to be together.
extern "C" __global__ void aggregated_count(const int* in, int* count) {
  if (in[blockIdx.x * blockDim.x + threadIdx.x] > 50) {
    const cg::coalesced_group group = cg::coalesced_threads();
    if (group.thread_rank() == 0) atomicAdd(count, static_cast<int>(group.size()));
  }
}

extern "C" __global__ void copied(const int* in, int* out) {
  __shared__ alignas(16) int tile[2][256];
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, tile[0], in, sizeof(int) * 256);
  cg::memcpy_async(block, tile[1], in + 256, sizeof(int) * 256);
  cg::wait_prior<1>(block);
  out[threadIdx.x] = tile[0][255 - threadIdx.x];
  cg::wait(block);
  out[256 + threadIdx.x] = tile[1][255 - threadIdx.x];
  block.sync();
  const auto warp = cg::tiled_partition<32>(block);
  int* mine = tile[0] + warp.meta_group_rank() * 32;
  cg::memcpy_async(warp, mine, in + 512 + warp.meta_group_rank() * 32, sizeof(int) * 32);
  cg::wait(warp);
  out[512 + threadIdx.x] = mine[31 - warp.thread_rank()];
}

// Each round every block reads what all blocks wrote in the round before.
extern "C" __global__ void grid_rounds(int* values, int rounds) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned n = static_cast<unsigned>(grid.size()), i = static_cast<unsigned>(grid.thread_rank());
  for (int round = 0; round < rounds; ++round) {
    const int next = values[(i + 37) % n] + 1;
    grid.sync();
    values[i] = next;
    grid.sync();
  }
}

extern "C" __global__ void grid_split_barrier(const int* in, int* partial, int* out) {
  const cg::grid_group grid = cg::this_grid();
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const int sum = cg::reduce(warp, in[grid.thread_rank()], cg::plus<int>());
  if (warp.thread_rank() == 0) atomicAdd(&partial[blockIdx.x], sum);
  auto token = grid.barrier_arrive();
  const int mine = in[threadIdx.x];
  grid.barrier_wait(static_cast<decltype(token)&&>(token));
  int total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];
  out[grid.thread_rank()] = total + mine;
}

extern "C" __global__ void is_cooperative(int* out) { *out = cg::this_grid().is_valid() ? 1 : 0; }

// ---- clusters

extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_exchange(const int* in, int* out) {
  __shared__ int tile[128];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), n = cluster.num_blocks();
  tile[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  cluster.sync();
  int sum = 0;
  for (unsigned other = 0; other < n; ++other) sum += cluster.map_shared_rank(tile, other)[threadIdx.x];
  const int next = *cluster.map_shared_rank(&tile[127 - threadIdx.x], (rank + 1) % n);
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum * 1000 + next;
  cluster.sync();
  if (threadIdx.x == 0 && cluster.query_shared_rank(tile) != rank) out[blockIdx.x * blockDim.x] = -1;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_histogram(const unsigned char* in, int* out) {
  __shared__ int bins[64];
  const cg::cluster_group cluster = cg::this_cluster();
  for (unsigned i = threadIdx.x; i < 64; i += blockDim.x) bins[i] = 0;
  cluster.sync();
  for (unsigned i = threadIdx.x; i < 512; i += blockDim.x) {
    const unsigned bin = in[blockIdx.x * 512 + i] % 128;
    atomicAdd(cluster.map_shared_rank(bins, bin / 64) + bin % 64, 1);
  }
  cluster.barrier_arrive();
  cluster.barrier_wait();
  for (unsigned i = threadIdx.x; i < 64; i += blockDim.x)
    atomicAdd(&out[cluster.block_rank() * 64 + i], bins[i]);
}
