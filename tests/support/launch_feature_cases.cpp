// SPDX-License-Identifier: Apache-2.0
#include "tests/support/launch_feature_cases.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

namespace ak::test {
namespace {

/// One launch of `k` over N elements, 256 a block, with `more` in it.
std::string plan(const std::string& more) {
  return R"json({"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], )json" + more +
         R"json("args": ["a", "b", "c", {"i64": "N"}]}]})json";
}

// Every block reads its neighbour's half of a from that block's shared memory.
const std::string kClusterSource = R"cu(#include <cooperative_groups.h>
extern "C" __global__ void k(const float* a, const float* b, float* c, long long n) {
  __shared__ float part[256];
  const auto cluster = cooperative_groups::this_cluster();
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  part[threadIdx.x] = a[i];
  cluster.sync();
  const unsigned other = (cluster.block_rank() + 1) % cluster.num_blocks();
  const long long j = (i - cluster.block_rank() * 256ll) + other * 256ll;
  c[j] = cluster.map_shared_rank(part, other)[threadIdx.x] + b[j];
  cluster.sync();
}
)cu";

const std::string kGridSource = R"cu(#include <cooperative_groups.h>
extern "C" __global__ void k(const float* a, const float* b, float* c, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) c[i] = a[i];
  cooperative_groups::this_grid().sync();
  if (i < n) c[n - 1 - i] += b[n - 1 - i];
}
)cu";

const std::string kDependentPlan = R"json({"workspace": [{"name": "w", "dtype": "float32", "count": "N"}],
  "launches": [{"kernel": "first", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["a", "w", {"i64": "N"}]},
    {"kernel": "second", "grid": ["ceil_div(N, 256)"], "block": [256], "pdl": true, "args": ["b", "w", "c", {"i64": "N"}]}]})json";
// What comes before the wait may run while the first kernel still does; w may only be read behind it.
const std::string kDependentSource = R"cu(
extern "C" __global__ void first(const float* a, float* w, long long n) {
  asm volatile("griddepcontrol.launch_dependents;");
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) w[i] = a[i];
}
extern "C" __global__ void second(const float* b, const float* w, float* c, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  const float own = i < n ? b[i] : 0.0f;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (i < n) c[i] = w[n - 1 - (n - 1 - i)] + own;
}
)cu";

/// A kernel that takes 256 elements of a through a tensor map, described by `fields`.
std::string map_plan(const std::string& fields) {
  return R"json({"tensor_maps": [{"name": "m", "tensor": "a", "dtype": "float32", )json" + fields +
         R"json(}], "launches": [{"kernel": "t", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["m", "b", "c", {"i64": "N"}]}]})json";
}
const std::string kMapSource = R"cu(
struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };
extern "C" __global__ void t(const __grid_constant__ CUtensorMap map, const float* b, float* c, long long n) {
  __shared__ alignas(128) float tile[256];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(at) : "memory");
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];"
                 ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(tile))), "l"(&map), "r"(static_cast<int>(blockIdx.x * 256)),
                 "r"(at) : "memory");
  }
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(at) : "memory");
  }
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) c[i] = tile[threadIdx.x] + b[i];
}
)cu";

LaunchCase bad_map(const std::string& name, const std::string& fields, const std::string& message) {
  return {name, map_plan(fields), kMapSource, Status::invalid_candidate, message};
}

}  // namespace

std::vector<LaunchCase> launch_cases() {
  return {
      {"a cluster whose blocks read each other's shared memory", plan(R"json("cluster": [2], )json"),
       kClusterSource},
      {"the largest cluster, which is not portable", plan(R"json("cluster": [16], )json"), kClusterSource},
      {"a grid that meets", plan(R"json("cooperative": true, )json"), kGridSource},
      {"a grid that meets and does not fit at once",
       R"json({"launches": [{"kernel": "k", "grid": [4096], "block": [1024], "cooperative": true,
          "args": ["a", "b", "c", {"i64": "N"}]}]})json",
       kGridSource, Status::resource_exceeded, "must fit on the device at once"},
      {"a launch that begins before the one it depends on has ended", kDependentPlan, kDependentSource},
      {"a tensor map", map_plan(R"json("dims": ["N"], "strides_bytes": [], "box": [256])json"), kMapSource},
      {"more shared memory than there is", plan(R"json("shared_bytes": "SHARED_BYTES_PER_BLOCK + 16", )json"),
       kGridSource, Status::resource_exceeded, "shared memory"},
      bad_map("a box side over 256", R"json("dims": ["N"], "strides_bytes": [], "box": [260])json",
              "box[0] = 260, but at most 256"),
      bad_map("a stride that is not a multiple of 16",
              R"json("dims": [64, 8], "strides_bytes": [260], "box": [64, 8])json",
              "strides_bytes[0] = 260, but a multiple of 16"),
      bad_map("a box wider than the swizzle",
              R"json("dims": [64, 8], "strides_bytes": [256], "box": [64, 8], "swizzle": "128B")json",
              "256 bytes wide, but swizzle 128B allows 128"),
      bad_map("a box whose width is not a multiple of 16 bytes",
              R"json("dims": ["N"], "strides_bytes": [], "box": [6])json", "24 bytes wide"),
      bad_map("an element stride over 8",
              R"json("dims": ["N"], "strides_bytes": [], "box": [64], "element_strides": [9])json",
              "element_strides[0] = 9"),
      bad_map("more elements than the tensor has",
              R"json("dims": ["N + 1"], "strides_bytes": [], "box": [64])json", "which has 16384"),
  };
}

void check_launches(DeviceBench& bench) {
  for (const LaunchCase& one : launch_cases()) {
    INFO(one.name);
    const auto result = bench.run(one.plan, one.source);
    INFO(describe(result));
    CHECK(to_string(result.outcome.status) == to_string(one.status));
    CHECK_THAT(result.outcome.message, Catch::Contains(one.message));
  }
}

}  // namespace ak::test
