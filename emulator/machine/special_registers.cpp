// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/special_registers.h"

#include <algorithm>
#include <map>

#include "emulator/lower/lowering.h"
#include "emulator/machine/lanes.h"

namespace ak::emulator {
namespace {

/// The values of a warp's 32 lanes.
using Fill = void (*)(const Warp&, std::uint64_t* lanes);

template <std::uint64_t (*kValue)(const Warp&)>
void uniform(const Warp& warp, std::uint64_t* lanes) {
  std::fill_n(lanes, kLanes, kValue(warp));
}
template <std::uint64_t (*kValue)(int lane)>
void by_lane(const Warp&, std::uint64_t* lanes) {
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = kValue(lane);
}

// Counted up: blocks are short enough that a division for each lane shows.
template <int Axis>
void tid(const Warp& warp, std::uint64_t* lanes) {
  const auto& extent = warp.launch->block;
  auto at = thread_of(warp, 0);
  for (int lane = 0; lane < kLanes; ++lane) {
    lanes[lane] = at[Axis];
    if (++at[0] < extent[0]) continue;
    at[0] = 0;
    if (++at[1] < extent[1]) continue;
    at[1] = 0;
    ++at[2];
  }
}
template <int Axis>
std::uint64_t ntid(const Warp& warp) {
  return warp.launch->block[Axis];
}
template <int Axis>
std::uint64_t ctaid(const Warp& warp) {
  return warp.block->id[Axis];
}
template <int Axis>
std::uint64_t nctaid(const Warp& warp) {
  return warp.launch->grid[Axis];
}
template <int Axis>
std::uint64_t clusterid(const Warp& warp) {
  return warp.block->id[Axis] / warp.launch->cluster[Axis];
}
template <int Axis>
std::uint64_t nclusterid(const Warp& warp) {
  return warp.launch->grid[Axis] / warp.launch->cluster[Axis];
}
template <int Axis>
std::uint64_t cluster_ctaid(const Warp& warp) {
  return warp.block->id[Axis] % warp.launch->cluster[Axis];
}
template <int Axis>
std::uint64_t cluster_nctaid(const Warp& warp) {
  return warp.launch->cluster[Axis];
}

std::uint64_t warp_id(const Warp& warp) { return warp.index; }
std::uint64_t warp_slots(const Warp& warp) { return warp.launch->device.warps_per_sm; }
std::uint64_t sm_id(const Warp& warp) { return warp.launch->device.sm_of(warp.block->linear); }
std::uint64_t sm_count(const Warp& warp) { return warp.launch->device.sm_count; }
std::uint64_t grid_id(const Warp& warp) { return warp.launch->device.launch; }
std::uint64_t cluster_rank(const Warp& warp) { return warp.block->cluster_rank; }
std::uint64_t cluster_size(const Warp& warp) { return warp.block->cluster.size(); }
std::uint64_t dynamic_bytes(const Warp& warp) { return warp.launch->dynamic_shared_bytes; }
// Without what belongs to the system, in units of an allocation (128 bytes from sm_80 on: CUDA occupancy calculator).
std::uint64_t total_bytes(const Warp& warp) {
  constexpr std::uint64_t kUnit = 128;
  const std::uint64_t own = warp.block->shared_bytes - warp.launch->program.reserved_shared_bytes;
  return (own + kUnit - 1) / kUnit * kUnit;
}
std::uint64_t workspace_high(const Warp& warp) { return warp.launch->workspace >> 32; }
std::uint64_t workspace_low(const Warp& warp) { return warp.launch->workspace & 0xFFFFFFFFu; }

std::uint64_t lane_id(int lane) { return static_cast<std::uint64_t>(lane); }
std::uint64_t mask_eq(int lane) { return 1u << lane; }
std::uint64_t mask_lt(int lane) { return (1u << lane) - 1; }
std::uint64_t mask_le(int lane) { return (2u << lane) - 1; }
std::uint64_t mask_gt(int lane) { return static_cast<std::uint32_t>(~((2u << lane) - 1)); }
std::uint64_t mask_ge(int lane) { return static_cast<std::uint32_t>(~((1u << lane) - 1)); }

// Where cooperative groups look for the address of the grid's workspace: its high and its low half
// (cooperative_groups/details/driver_abi.h of the toolkit).
constexpr std::string_view kWorkspaceHigh = "%envreg1", kWorkspaceLow = "%envreg2";

struct Row {
  std::string_view name;
  int bits;
  Fill fill;
};
// clang-format off
constexpr Row kRows[] = {
    {"%tid.x", 32, tid<0>}, {"%tid.y", 32, tid<1>}, {"%tid.z", 32, tid<2>},
    {"%ntid.x", 32, uniform<ntid<0>>}, {"%ntid.y", 32, uniform<ntid<1>>}, {"%ntid.z", 32, uniform<ntid<2>>},
    {"%ctaid.x", 32, uniform<ctaid<0>>}, {"%ctaid.y", 32, uniform<ctaid<1>>}, {"%ctaid.z", 32, uniform<ctaid<2>>},
    {"%nctaid.x", 32, uniform<nctaid<0>>}, {"%nctaid.y", 32, uniform<nctaid<1>>}, {"%nctaid.z", 32, uniform<nctaid<2>>},
    {"%clusterid.x", 32, uniform<clusterid<0>>}, {"%clusterid.y", 32, uniform<clusterid<1>>}, {"%clusterid.z", 32, uniform<clusterid<2>>},
    {"%nclusterid.x", 32, uniform<nclusterid<0>>}, {"%nclusterid.y", 32, uniform<nclusterid<1>>}, {"%nclusterid.z", 32, uniform<nclusterid<2>>},
    {"%cluster_ctaid.x", 32, uniform<cluster_ctaid<0>>}, {"%cluster_ctaid.y", 32, uniform<cluster_ctaid<1>>},
    {"%cluster_ctaid.z", 32, uniform<cluster_ctaid<2>>},
    {"%cluster_nctaid.x", 32, uniform<cluster_nctaid<0>>}, {"%cluster_nctaid.y", 32, uniform<cluster_nctaid<1>>},
    {"%cluster_nctaid.z", 32, uniform<cluster_nctaid<2>>},
    {"%cluster_ctarank", 32, uniform<cluster_rank>}, {"%cluster_nctarank", 32, uniform<cluster_size>},
    {"%laneid", 32, by_lane<lane_id>}, {"%warpid", 32, uniform<warp_id>}, {"%nwarpid", 32, uniform<warp_slots>},
    {"%smid", 32, uniform<sm_id>}, {"%nsmid", 32, uniform<sm_count>}, {"%gridid", 64, uniform<grid_id>},
    {"%lanemask_eq", 32, by_lane<mask_eq>}, {"%lanemask_lt", 32, by_lane<mask_lt>}, {"%lanemask_le", 32, by_lane<mask_le>},
    {"%lanemask_gt", 32, by_lane<mask_gt>}, {"%lanemask_ge", 32, by_lane<mask_ge>},
    {"%dynamic_smem_size", 32, uniform<dynamic_bytes>}, {"%total_smem_size", 32, uniform<total_bytes>},
    {kWorkspaceHigh, 32, uniform<workspace_high>}, {kWorkspaceLow, 32, uniform<workspace_low>},
};
// clang-format on

/// What the CPU device has no value for: names that begin so, and what they are.
struct Unavailable {
  std::string_view stem, what;
};
constexpr Unavailable kUnavailable[] = {
    {"%pm", "a performance counter"},
    {"%envreg", "set by the driver"},
    {"%aggr_smem_size", "the shared memory of several blocks"},
    {"%is_explicit_cluster", "whether the launch asked for clusters"},
    {"%current_graph_exec", "a CUDA graph"},
    {"%clock", "a clock, of which only mov takes the value"},
    {"%globaltimer", "a clock, of which only mov takes the value"},
};

const Row& row_of(const std::string& name) {
  const auto found =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.name == name; });
  if (found == std::end(kRows)) refuse_special(name);
  return *found;
}

}  // namespace

void refuse_special(const std::string& name) {
  const auto known = std::find_if(std::begin(kUnavailable), std::end(kUnavailable),
                                  [&](const Unavailable& each) { return name.starts_with(each.stem); });
  const std::string what = known == std::end(kUnavailable) ? "" : " (" + std::string(known->what) + ")";
  Lowering::unsupported("special register " + name + what);
}

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
  if (found != kConstants.end()) return found->second;
  if (name.ends_with(".w")) return 0;  // PTX ISA 9.0, section 10: "always returns zero"
  return std::nullopt;
}

bool names_reserved_shared(const std::string& name) { return name.starts_with("%reserved_smem_offset"); }

SpecialRows::SpecialRows(const Program& program) {
  for (const SpecialRow& special : program.specials)
    rows_.push_back({row_of(special.name).fill, special.slot, special.bits == 64});
}

void SpecialRows::fill(Warp& warp) const {
  for (const Filled& row : rows_) {
    alignas(64) std::uint64_t lanes[kLanes];
    row.fill(warp, lanes);
    if (row.wide)
      std::copy_n(lanes, kLanes, destination<std::uint64_t>(warp, row.slot));
    else
      std::transform(lanes, lanes + kLanes, destination<std::uint32_t>(warp, row.slot),
                     [](std::uint64_t value) { return static_cast<std::uint32_t>(value); });
  }
}

bool reads_grid_workspace(const Program& program) {
  return std::any_of(program.specials.begin(), program.specials.end(),
                     [](const SpecialRow& special) { return special.name == kWorkspaceLow; });
}

}  // namespace ak::emulator
