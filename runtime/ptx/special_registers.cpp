// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/special_registers.h"

#include <algorithm>
#include <map>

#include "runtime/ptx/lanes.h"
#include "runtime/ptx/lowering.h"

namespace ak::ptx {
namespace {

// The SM a block is on: dealt out in turn over the SMs of an H200 (NVIDIA's data sheet).
constexpr std::uint32_t kSms = 132;

using Value = std::uint64_t (*)(const Warp&, int lane);

template <int Axis>
std::uint64_t tid(const Warp& warp, int lane) {
  return thread_of(warp, lane)[Axis];
}
template <int Axis>
std::uint64_t ntid(const Warp& warp, int) {
  return warp.launch->block[Axis];
}
template <int Axis>
std::uint64_t ctaid(const Warp& warp, int) {
  return warp.block->id[Axis];
}
template <int Axis>
std::uint64_t nctaid(const Warp& warp, int) {
  return warp.launch->grid[Axis];
}
template <int Axis>
std::uint64_t clusterid(const Warp& warp, int) {
  return warp.block->id[Axis] / warp.launch->cluster[Axis];
}
template <int Axis>
std::uint64_t nclusterid(const Warp& warp, int) {
  return warp.launch->grid[Axis] / warp.launch->cluster[Axis];
}
template <int Axis>
std::uint64_t cluster_ctaid(const Warp& warp, int) {
  return warp.block->id[Axis] % warp.launch->cluster[Axis];
}
template <int Axis>
std::uint64_t cluster_nctaid(const Warp& warp, int) {
  return warp.launch->cluster[Axis];
}

std::uint64_t lane_id(const Warp&, int lane) { return static_cast<std::uint64_t>(lane); }
std::uint64_t warp_id(const Warp& warp, int) { return warp.index; }
std::uint64_t warp_count(const Warp& warp, int) { return warp.block->warps.size(); }
std::uint64_t sm_id(const Warp& warp, int) { return warp.block->linear % kSms; }
std::uint64_t sm_count(const Warp&, int) { return kSms; }
std::uint64_t grid_id(const Warp& warp, int) { return warp.launch->launch_base; }
std::uint64_t mask_eq(const Warp&, int lane) { return 1u << lane; }
std::uint64_t mask_lt(const Warp&, int lane) { return (1u << lane) - 1; }
std::uint64_t mask_le(const Warp&, int lane) { return (2u << lane) - 1; }
std::uint64_t mask_gt(const Warp&, int lane) { return static_cast<std::uint32_t>(~((2u << lane) - 1)); }
std::uint64_t mask_ge(const Warp&, int lane) { return static_cast<std::uint32_t>(~((1u << lane) - 1)); }
std::uint64_t cluster_rank(const Warp& warp, int) { return warp.block->cluster_rank; }
std::uint64_t cluster_size(const Warp& warp, int) { return warp.block->cluster.size(); }
std::uint64_t dynamic_bytes(const Warp& warp, int) { return warp.launch->dynamic_shared_bytes; }
std::uint64_t total_bytes(const Warp& warp, int) { return warp.block->shared_bytes; }

// Filled by fill_special_rows(): no property of the warp.
std::uint64_t of_launch(const Warp&, int) { return 0; }

// Where cooperative groups look for the address of the grid's workspace: its high and its low half
// (cooperative_groups/details/driver_abi.h of the toolkit).
constexpr std::string_view kWorkspaceHigh = "%envreg1", kWorkspaceLow = "%envreg2";

struct Row {
  std::string_view name;
  int bits;
  Value value;
};
// clang-format off
constexpr Row kRows[] = {
    {"%tid.x", 32, tid<0>}, {"%tid.y", 32, tid<1>}, {"%tid.z", 32, tid<2>},
    {"%ntid.x", 32, ntid<0>}, {"%ntid.y", 32, ntid<1>}, {"%ntid.z", 32, ntid<2>},
    {"%ctaid.x", 32, ctaid<0>}, {"%ctaid.y", 32, ctaid<1>}, {"%ctaid.z", 32, ctaid<2>},
    {"%nctaid.x", 32, nctaid<0>}, {"%nctaid.y", 32, nctaid<1>}, {"%nctaid.z", 32, nctaid<2>},
    {"%clusterid.x", 32, clusterid<0>}, {"%clusterid.y", 32, clusterid<1>}, {"%clusterid.z", 32, clusterid<2>},
    {"%nclusterid.x", 32, nclusterid<0>}, {"%nclusterid.y", 32, nclusterid<1>}, {"%nclusterid.z", 32, nclusterid<2>},
    {"%cluster_ctaid.x", 32, cluster_ctaid<0>}, {"%cluster_ctaid.y", 32, cluster_ctaid<1>},
    {"%cluster_ctaid.z", 32, cluster_ctaid<2>},
    {"%cluster_nctaid.x", 32, cluster_nctaid<0>}, {"%cluster_nctaid.y", 32, cluster_nctaid<1>},
    {"%cluster_nctaid.z", 32, cluster_nctaid<2>},
    {"%cluster_ctarank", 32, cluster_rank}, {"%cluster_nctarank", 32, cluster_size},
    {"%laneid", 32, lane_id}, {"%warpid", 32, warp_id}, {"%nwarpid", 32, warp_count},
    {"%smid", 32, sm_id}, {"%nsmid", 32, sm_count}, {"%gridid", 64, grid_id},
    {"%lanemask_eq", 32, mask_eq}, {"%lanemask_lt", 32, mask_lt}, {"%lanemask_le", 32, mask_le},
    {"%lanemask_gt", 32, mask_gt}, {"%lanemask_ge", 32, mask_ge},
    {"%dynamic_smem_size", 32, dynamic_bytes}, {"%total_smem_size", 32, total_bytes},
    {kWorkspaceHigh, 32, of_launch}, {kWorkspaceLow, 32, of_launch},
};
// clang-format on

const Row& row_of(const std::string& name) {
  const auto found =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.name == name; });
  if (found == std::end(kRows)) Lowering::unsupported("special register " + name);
  return *found;
}

std::uint64_t lane_value(const Row& row, const Warp& warp, int lane, std::uint64_t workspace) {
  if (row.name == kWorkspaceHigh) return workspace >> 32;
  if (row.name == kWorkspaceLow) return workspace & 0xFFFFFFFFu;
  return row.value(warp, lane);
}

}  // namespace

int special_bits(const std::string& name) { return row_of(name).bits; }

std::optional<std::uint64_t> constant_special(const std::string& name) {
  static const std::map<std::string, std::uint64_t, std::less<>> kConstants = {
      {"WARP_SZ", kLanes},
      {"%reserved_smem_offset_begin", 0},
      {"%reserved_smem_offset_cap", kReservedSharedBytes},
      {"%reserved_smem_offset_end", kReservedSharedBytes},
      // Where in it things lie is not documented; groups want 288 bytes from the second on
      // (cooperative_groups/details/memory.h of the toolkit).
      {"%reserved_smem_offset_0", 0},
      {"%reserved_smem_offset_1", kReservedSharedBytes / 2},
  };
  const auto found = kConstants.find(name);
  return found != kConstants.end() ? std::optional(found->second) : std::nullopt;
}

bool names_reserved_shared(const std::string& name) { return name.starts_with("%reserved_smem_offset"); }

void fill_special_rows(Warp& warp, std::uint64_t workspace) {
  for (const SpecialRow& special : warp.launch->program.specials) {
    const Row& row = row_of(special.name);
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t value = lane_value(row, warp, lane, workspace);
      if (special.bits == 64)
        destination<std::uint64_t>(warp, special.slot)[lane] = value;
      else
        destination<std::uint32_t>(warp, special.slot)[lane] = static_cast<std::uint32_t>(value);
    }
  }
}

bool reads_grid_workspace(const Program& program) {
  return std::any_of(program.specials.begin(), program.specials.end(),
                     [](const SpecialRow& special) { return special.name == kWorkspaceLow; });
}

}  // namespace ak::ptx
