// Clusters, mbarriers, bulk and tensor copies and wgmma, by the instructions themselves.
#include <cooperative_groups.h>
#include <cuda_fp16.h>

namespace {

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__device__ unsigned in_block(unsigned address, unsigned rank) {
  unsigned mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}
__device__ unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

__device__ void init(unsigned long long& barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(count) : "memory");
}
__device__ void publish_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ void arrive(unsigned long long& barrier) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(shared_address(&barrier))
               : "memory");
}
__device__ void arrive_remote(unsigned address) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address) : "memory");
}
__device__ void expect(unsigned long long& barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
               : "memory");
}
__device__ bool try_wait(unsigned long long& barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;"
      " selp.u32 %0, 1, 0, p; }"
      : "=r"(done)
      : "r"(shared_address(&barrier)), "r"(parity)
      : "memory");
  return done != 0;
}
__device__ void wait(unsigned long long& barrier, unsigned parity) {
  while (!try_wait(barrier, parity)) {
  }
}
__device__ void load_bulk(void* to, const void* from, unsigned bytes, unsigned long long& barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(&barrier))
               : "memory");
}
__device__ void store_bulk(void* to, const void* from, unsigned bytes) {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
               "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}

}  // namespace

// Rounds in which each block writes a word and, after the barrier, reads its neighbour's: arriving early and
// waiting late, with two words in turn.
extern "C" __global__ void cluster_rounds(int* out, int rounds) {
  __shared__ int words[2];
  const unsigned rank = cluster_rank(), blocks = 4;
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) words[round % 2] = static_cast<int>(rank * 100 + round);
    cluster_arrive();
    const int own = round * 7;
    cluster_wait();
    int there;
    asm volatile("ld.shared::cluster.u32 %0, [%1];"
                 : "=r"(there)
                 : "r"(in_block(shared_address(&words[round % 2]), (rank + 1) % blocks))
                 : "memory");
    sum += there + own;
  }
  cluster_sync();
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Every thread of the cluster stores into and counts in all blocks.
extern "C" __global__ void cluster_stores(int* out) {
  __shared__ int slots[4], count, most;
  if (threadIdx.x == 0) count = most = 0;
  cluster_sync();
  for (unsigned other = 0; other < 4; ++other) {
    asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(in_block(shared_address(&count), other)), "r"(1)
                 : "memory");
    int before;
    asm volatile("atom.shared::cluster.max.s32 %0, [%1], %2;"
                 : "=r"(before)
                 : "r"(in_block(shared_address(&most), other)), "r"(cluster_rank() * 1000 + threadIdx.x)
                 : "memory");
    if (threadIdx.x == 0)
      asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(in_block(shared_address(&slots[cluster_rank()]), other)),
                   "r"(cluster_rank() + 10)
                   : "memory");
  }
  cluster_sync();
  if (threadIdx.x == 0) {
    out[blockIdx.x * 6] = count;
    out[blockIdx.x * 6 + 1] = most;
    for (int i = 0; i < 4; ++i) out[blockIdx.x * 6 + 2 + i] = slots[i];
  }
}

// Block 0 collects what the others put into its shared memory: a queue with a full and an empty barrier.
extern "C" __global__ void remote_arrivals(int* out, int rounds) {
  __shared__ unsigned long long full, empty;
  __shared__ int queue[4];
  const unsigned rank = cluster_rank();
  if (threadIdx.x == 0) {
    init(full, 3);
    init(empty, 1);
    publish_init();
  }
  cluster_sync();
  if (threadIdx.x == 0 && rank != 0) {
    for (int round = 0; round < rounds; ++round) {
      if (round > 0) wait(empty, (round - 1) % 2);
      asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(in_block(shared_address(&queue[rank]), 0)),
                   "r"(rank * 1000 + round)
                   : "memory");
      arrive_remote(in_block(shared_address(&full), 0));
    }
  }
  if (threadIdx.x == 0 && rank == 0) {
    for (int round = 0; round < rounds; ++round) {
      wait(full, round % 2);
      out[round] = queue[1] + queue[2] + queue[3];
      for (unsigned other = 1; other < 4; ++other) arrive_remote(in_block(shared_address(&empty), other));
    }
  }
  cluster_sync();
}

// Tiles through a ring of two stages: in -> shared memory -> +1 -> out, all by the copy engine.
extern "C" __global__ void bulk_ring(const int* in, int* out, int tiles) {
  constexpr int kTile = 128, kStages = 2;
  __shared__ alignas(128) int ring[kStages][kTile];
  __shared__ alignas(128) int result[kTile];
  __shared__ unsigned long long full[kStages];
  const int thread = static_cast<int>(threadIdx.x);
  const auto fetch = [&](int tile) {
    expect(full[tile % kStages], sizeof ring[0]);
    load_bulk(ring[tile % kStages], in + tile * kTile, sizeof ring[0], full[tile % kStages]);
  };
  if (thread == 0) {
    for (auto& barrier : full) init(barrier, 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    for (int tile = 0; tile < kStages && tile < tiles; ++tile) fetch(tile);
  }
  __syncthreads();
  for (int tile = 0; tile < tiles; ++tile) {
    wait(full[tile % kStages], tile / kStages % 2);
    result[thread] = ring[tile % kStages][thread] + 1;
    __syncthreads();
    if (thread == 0) {
      store_bulk(out + tile * kTile, result, sizeof result);
      if (tile + kStages < tiles) fetch(tile + kStages);
    }
    __syncthreads();
  }
}

// The wait for the copy is missing.
extern "C" __global__ void bulk_without_wait(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  __shared__ unsigned long long full;
  if (threadIdx.x == 0) {
    init(full, 1);
    publish_init();
    expect(full, sizeof tile);
    load_bulk(tile, in, sizeof tile, full);
  }
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
  wait(full, 0);
}

// Twice as many bytes are announced as come: nobody gets past the wait.
extern "C" __global__ void bulk_too_many_bytes_expected(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  __shared__ unsigned long long full;
  if (threadIdx.x == 0) {
    init(full, 1);
    publish_init();
    expect(full, 2 * sizeof tile);
    load_bulk(tile, in, sizeof tile, full);
  }
  __syncthreads();
  wait(full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

// Each of two warps waits for what the other one does behind its own wait, and the others wait for both.
extern "C" __global__ void waits_in_a_circle(const int* in, int* out) {
  __shared__ unsigned long long full, empty;
  if (threadIdx.x == 0) {
    init(full, 32);
    init(empty, 32);
    publish_init();
  }
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (warp == 0) {
    wait(empty, 0);
    arrive(full);
  } else if (warp == 1) {
    wait(full, 0);
    arrive(empty);
  }
  __syncthreads();
  out[threadIdx.x] = in[threadIdx.x];
}

// Block 0 of two sends its tile to both and one of its own to the other.
extern "C" __global__ void bulk_multicast(const int* in, int* out) {
  __shared__ alignas(128) int tile[64], sent[64], own[64];
  __shared__ unsigned long long full;
  const unsigned rank = cluster_rank();
  own[threadIdx.x] = static_cast<int>(threadIdx.x * 3);
  if (threadIdx.x == 0) {
    init(full, 1);
    publish_init();
    expect(full, rank == 1 ? 512 : 256);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cluster_sync();
  if (rank == 0 && threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3],"
        " %4;" ::"r"(shared_address(tile)),
        "l"(in), "r"(256), "r"(shared_address(&full)), "h"(static_cast<short>(3))
        : "memory");
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     in_block(shared_address(sent), 1)),
                 "r"(shared_address(own)), "r"(256), "r"(in_block(shared_address(&full), 1))
                 : "memory");
  }
  wait(full, 0);
  const unsigned at = rank * 128 + threadIdx.x;
  out[at] = tile[threadIdx.x];
  out[at + 64] = rank == 1 ? sent[threadIdx.x] : own[threadIdx.x];
  cluster_sync();
}

struct alignas(128) Map {
  char bytes[128];
};
struct Coordinates {
  int at[5];
};

#define TENSOR_LOAD(RANK, LIST, ...)                                                                           \
  asm volatile("cp.async.bulk.tensor." RANK                                                                    \
               ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " LIST "], [%2];" ::"r"(   \
                   shared_address(box)),                                                                       \
               "l"(&map), "r"(shared_address(&full)), __VA_ARGS__                                              \
               : "memory")
#define TENSOR_STORE(RANK, LIST, ...)                                                                          \
  asm volatile("cp.async.bulk.tensor." RANK ".global.shared::cta.tile.bulk_group [%1, " LIST "], [%0];" ::"r"( \
                   shared_address(box)),                                                                       \
               "l"(&map), __VA_ARGS__                                                                          \
               : "memory")

// The box at `c`, as it lies in shared memory, to `out`.
extern "C" __global__ void tensor_load(const __grid_constant__ Map map, int rank, Coordinates c, int bytes, int* out) {
  extern __shared__ __align__(1024) int box[];
  __shared__ unsigned long long full;
  if (threadIdx.x == 0) {
    init(full, 1);
    publish_init();
    expect(full, static_cast<unsigned>(bytes));
    if (rank == 1) TENSOR_LOAD("1d", "{%3}", "r"(c.at[0]));
    if (rank == 2) TENSOR_LOAD("2d", "{%3, %4}", "r"(c.at[0]), "r"(c.at[1]));
    if (rank == 3) TENSOR_LOAD("3d", "{%3, %4, %5}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]));
    if (rank == 4)
      TENSOR_LOAD("4d", "{%3, %4, %5, %6}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]));
    if (rank == 5)
      TENSOR_LOAD("5d", "{%3, %4, %5, %6, %7}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]));
  }
  __syncthreads();
  wait(full, 0);
  for (int i = static_cast<int>(threadIdx.x); i < bytes / 4; i += static_cast<int>(blockDim.x)) out[i] = box[i];
}

// Shared memory as it is in `in` to the box at `c`.
extern "C" __global__ void tensor_store(const __grid_constant__ Map map, int rank, Coordinates c, int bytes,
                                        const int* in) {
  extern __shared__ __align__(1024) int box[];
  for (int i = static_cast<int>(threadIdx.x); i < bytes / 4; i += static_cast<int>(blockDim.x)) box[i] = in[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    if (rank == 1) TENSOR_STORE("1d", "{%2}", "r"(c.at[0]));
    if (rank == 2) TENSOR_STORE("2d", "{%2, %3}", "r"(c.at[0]), "r"(c.at[1]));
    if (rank == 3) TENSOR_STORE("3d", "{%2, %3, %4}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]));
    if (rank == 4)
      TENSOR_STORE("4d", "{%2, %3, %4, %5}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]));
    if (rank == 5)
      TENSOR_STORE("5d", "{%2, %3, %4, %5, %6}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]));
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

// ---- a multiplication as libraries write it: a warp that loads tiles, a warpgroup that multiplies

namespace {
__device__ unsigned long long tile_descriptor(const void* tile) {
  const unsigned long long start = (shared_address(tile) & 0x3FFFFu) >> 4;
  return start | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;  // rows of 128 bytes, swizzled; 8 rows apart
}
}  // namespace

// C (64 x 64, float) = A (64 x k) B (64 x k)^T in fp16; boxes of 64 x 64, swizzled by 128 bytes.
extern "C" __global__ void __launch_bounds__(160)
    gemm_64(const __grid_constant__ Map a, const __grid_constant__ Map b, float* c, int k) {
  constexpr int kStages = 2, kTile = 64 * 64;
  __shared__ alignas(1024) __half tiles_a[kStages][kTile];
  __shared__ alignas(1024) __half tiles_b[kStages][kTile];
  __shared__ unsigned long long full[kStages], empty[kStages];
  const int steps = k / 64, warp = static_cast<int>(threadIdx.x / 32);
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      init(full[i], 1);
      init(empty[i], 128);
    }
    publish_init();
  }
  __syncthreads();
  if (warp == 4) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    unsigned chosen;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xFFFFFFFF; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
    if (chosen) {
      for (int step = 0; step < steps; ++step) {
        const int stage = step % kStages;
        if (step >= kStages) wait(empty[stage], (step / kStages - 1) % 2);
        expect(full[stage], 2 * kTile * sizeof(__half));
        const auto fetch = [&](const Map& map, const __half* to) {
          asm volatile(
              "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}],"
              " [%2];" ::"r"(shared_address(to)),
              "l"(&map), "r"(shared_address(&full[stage])), "r"(step * 64), "r"(0)
              : "memory");
        };
        fetch(a, tiles_a[stage]);
        fetch(b, tiles_b[stage]);
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    float d[32] = {};
    for (int step = 0; step < steps; ++step) {
      const int stage = step % kStages;
      wait(full[stage], step / kStages % 2);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      for (int part = 0; part < 4; ++part) {
        const unsigned long long da = tile_descriptor(tiles_a[stage]) + part * 2,
                                 db = tile_descriptor(tiles_b[stage]) + part * 2;
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12,"
            " %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33,"
            " 1, 1, 1, 0, 0;"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
              "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
              "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
              "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
              "+f"(d[30]), "+f"(d[31])
            : "l"(da), "l"(db)
            : "memory");
      }
      asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
      arrive(empty[stage]);
    }
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int i = 0; i < 32; ++i) {
      const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      c[row * 64 + column] = d[i];
    }
  }
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Two warps produce, two consume, by two named barriers with counts, as a ring of one.
extern "C" __global__ void named_barriers(int* out, int rounds) {
  __shared__ int slot[64];
  const int thread = static_cast<int>(threadIdx.x % 64);
  if (threadIdx.x < 64) {
    for (int round = 0; round < rounds; ++round) {
      if (round > 0) asm volatile("barrier.sync 2, 128;" ::: "memory");
      slot[thread] = thread * 10 + round;
      asm volatile("barrier.arrive 1, 128;" ::: "memory");
    }
  } else {
    for (int round = 0; round < rounds; ++round) {
      asm volatile("barrier.sync 1, 128;" ::: "memory");
      out[round * 64 + thread] = slot[63 - thread];
      if (round + 1 < rounds) asm volatile("barrier.arrive 2, 128;" ::: "memory");
    }
  }
}

// One lane of each warp, the same for all lanes.
extern "C" __global__ void elected(int* out) {
  unsigned chosen, leader;
  asm volatile("{ .reg .pred p; elect.sync %1|p, 0xFFFFFFFF; selp.u32 %0, 1, 0, p; }" : "=r"(chosen), "=r"(leader));
  out[threadIdx.x] = static_cast<int>(chosen * 100 + leader);
}
