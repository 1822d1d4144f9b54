#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
__global__ void scan(const int* in, int* out) {
  using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
  using Scan = cub::BlockScan<int, 128>;
  __shared__ union { Load::TempStorage load; Store::TempStorage store; Scan::TempStorage scan; } t;
  int items[4];
  Load(t.load).Load(in, items);
  __syncthreads();
  Scan(t.scan).InclusiveSum(items, items);
  __syncthreads();
  Store(t.store).Store(out, items);
}
