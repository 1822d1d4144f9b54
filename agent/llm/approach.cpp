// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/approach.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace ak::agent {
namespace {

struct Feature {
  std::string_view name;
  std::initializer_list<std::string_view> marks;  ///< any of them in the source
};

// What makes one CUDA kernel another kind of kernel: how it computes, how it moves data, how its threads
// talk. Names of PTX instructions, of intrinsics, of CUDA C++ and of device headers.
const Feature kFeatures[] = {
    {"wgmma", {"wgmma"}},
    {"mma", {"mma.sync", "ak::mma<", "wmma::", "mma_sync"}},
    {"TMA", {"cp.async.bulk", "ak::tma_", "ak::bulk_load", "CUtensorMap"}},
    {"cp.async", {"cp.async.ca", "cp.async.cg", "ak::copy_async", "memcpy_async", "__pipeline_memcpy"}},
    {"shared memory", {"__shared__"}},
    {"shuffles", {"__shfl", "shfl.sync", "__reduce_", "ak::reduce_", "ak::block_sum", "cub::WarpReduce"}},
    {"atomics", {"atomicAdd", "atomicMax", "atomicMin", "atomicCAS", "red.global", "atom.global"}},
    {"vector loads",
     {"float4", "uint4", "int4", "float2", "uint2", "ld.global.v", "__half2", "bfloat162", "ak::Pack<"}},
    {"grid barrier", {"this_grid", "grid.sync", "grid_group"}},
    {"clusters",
     {"barrier.cluster", "cluster_group", "__cluster_dims__", "mapa.", "map_shared_rank", "ak::cluster_"}},
};

}  // namespace

std::vector<std::string_view> features_of(std::string_view source) {
  std::vector<std::string_view> names;
  for (const Feature& feature : kFeatures) {
    const auto named = [&](std::string_view mark) { return source.find(mark) != std::string_view::npos; };
    if (std::ranges::any_of(feature.marks, named)) names.push_back(feature.name);
  }
  return names;
}

std::string approach_of(const Candidate& candidate) {
  const std::vector<std::string_view> names = features_of(candidate.source);
  const std::size_t launches = candidate.plan.launches.size();
  return fmt::format("{}; {} launch{}", names.empty() ? "plain" : fmt::format("{}", fmt::join(names, ", ")),
                     launches, launches == 1 ? "" : "es");
}

}  // namespace ak::agent
