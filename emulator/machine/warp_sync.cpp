// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/warp_sync.h"

#include <algorithm>
#include <bit>

#include "emulator/check/async_checker.h"
#include "emulator/machine/async_copies.h"
#include "emulator/machine/lanes.h"

namespace ak::emulator {
namespace {

Index add_group(Warp& warp, ReconvergenceGroup group) {
  for (Index i = 0; i < warp.groups.size(); ++i) {
    if (warp.groups[i].lanes != 0) continue;
    warp.groups[i] = std::move(group);
    return i;
  }
  warp.groups.push_back(std::move(group));
  return static_cast<Index>(warp.groups.size() - 1);
}

Fragment& add_fragment(Warp& warp, Fragment fragment) {
  for (Fragment& old : warp.fragments) {
    if (old.state == FragmentState::done) return old = std::move(fragment);
  }
  return warp.fragments.emplace_back(std::move(fragment));
}

/// Whether the fragment's lanes are to meet at `at`: the same op of another call of the function is another place.
bool meets_at(const Warp& warp, const Fragment& fragment, Index at) {
  if (fragment.group == kNone) return false;
  const ReconvergenceGroup& group = warp.groups[fragment.group];
  return group.target == at && group.returns.size() == fragment.returns.size();
}

/// Lanes of a group that have arrived continue, as members of what the group is part of.
void go_on(Warp& warp, Index which) {
  ReconvergenceGroup& group = warp.groups[which];
  Fragment together{.pc = group.target,
                    .lanes = group.arrived,
                    .group = group.parent,
                    .state = FragmentState::ready,
                    .wanted = 0,
                    .barrier = 0,
                    .returns = group.returns};
  group.lanes &= ~group.arrived;
  group.arrived = 0;
  if (group.lanes == 0) group = {};
  add_fragment(warp, std::move(together));
}

void block_at(Warp& warp, Index at, std::uint32_t wanted) {
  Fragment& fragment = warp.fragments[warp.fragment];
  fragment.state = FragmentState::at_warp_sync;
  fragment.wanted = wanted;
  warp.pc = at;
  warp.leave = true;
}

/// Lanes that their own member mask does not name.
std::uint32_t lanes_outside_masks(const Warp& warp, const std::uint32_t* masks) {
  std::uint32_t found = 0;
  for (int lane = 0; lane < kLanes; ++lane) found |= (~masks[lane] >> lane & 1u) << lane;
  return found & warp.mask;
}

}  // namespace

bool await_lanes(Warp& warp, const Op& op, std::uint32_t named) {
  if ((named & warp.live & ~warp.mask) == 0) return true;
  const auto at = static_cast<Index>(&op - warp.code);
  if (warp.mask == warp.lanes)
    block_at(warp, at, named);
  else
    diverge(warp, at, kNone);  // those that a guard leaves out do not wait
  return false;
}

bool await_members(Warp& warp, const Op& op, const std::uint32_t* masks) {
  if (const std::uint32_t wrong = lanes_outside_masks(warp, masks); wrong != 0) {
    for_each_lane(wrong, [&](int lane) {
      warp.launch->fault(warp, op, FaultKind::invalid_operand, lane,
                         "the member mask does not name the executing lane");
    });
    warp.launch->stop = true;
    return false;
  }
  const std::uint32_t away = warp.live & ~warp.mask;
  std::uint32_t incomplete = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    incomplete |= static_cast<std::uint32_t>((masks[lane] & away) != 0) << lane;
  incomplete &= warp.mask;
  if (incomplete == 0) return true;
  const std::uint32_t named = masks[std::countr_zero(incomplete)];
  std::uint32_t waiting = 0;
  for_each_lane(incomplete,
                [&](int lane) { waiting |= static_cast<std::uint32_t>(masks[lane] == named) << lane; });
  const auto at = static_cast<Index>(&op - warp.code);
  if (waiting == warp.lanes) {
    block_at(warp, at, named);
    return false;
  }
  // One set of members waits apart; the others come here again.
  warp.mask = waiting;
  diverge(warp, at, kNone);
  warp.pc = at;
  return false;
}

// The fragment falls through; a new one takes the branch. Lanes that leave a loop one by one all wait in
// the same group.
Fragment& diverge(Warp& warp, Index target, Index reconvergence) {
  const std::uint32_t taken = warp.mask;
  Index group = warp.fragments[warp.fragment].group;
  const bool same = meets_at(warp, warp.fragments[warp.fragment], reconvergence);
  if (reconvergence != kNone && !same) {
    group = add_group(warp, {.target = reconvergence,
                             .lanes = warp.lanes,
                             .arrived = 0,
                             .since = 0,
                             .parent = group,
                             .returns = warp.fragments[warp.fragment].returns});
  }
  Fragment& rest = warp.fragments[warp.fragment];
  rest.group = group;
  rest.lanes = warp.lanes & ~taken;
  warp.lanes = rest.lanes;
  return add_fragment(warp, {.pc = target,
                             .lanes = taken,
                             .group = group,
                             .state = FragmentState::ready,
                             .wanted = 0,
                             .barrier = 0,
                             .returns = warp.fragments[warp.fragment].returns});
}

void arrive_at_join(Warp& warp, Index at) {
  Fragment& fragment = warp.fragments[warp.fragment];
  while (meets_at(warp, fragment, at)) {
    ReconvergenceGroup& group = warp.groups[fragment.group];
    if (group.arrived == 0) group.since = warp.spent;
    group.arrived |= fragment.lanes;
    if (group.arrived != group.lanes) {
      fragment.state = FragmentState::done;
      warp.leave = true;
      return;
    }
    fragment.lanes = warp.lanes = group.lanes;
    fragment.group = group.parent;
    group = {};
  }
}

void exit_lanes(Warp& warp) {
  const std::uint32_t gone = warp.mask;
  Fragment& fragment = warp.fragments[warp.fragment];
  fragment.lanes &= ~gone;
  warp.lanes &= ~gone;
  warp.live &= ~gone;
  warp.block->live_threads -= static_cast<std::uint32_t>(std::popcount(gone));
  if (!warp.copy_groups.empty()) complete_copies(warp, gone, 0);
  if (warp.block->live_threads == 0 && warp.launch->checker != nullptr)
    warp.launch->checker->async().block_ended(*warp.block);
  for (Index i = 0; i < warp.groups.size(); ++i) {
    ReconvergenceGroup& group = warp.groups[i];
    if (group.lanes == 0) continue;
    group.lanes &= ~gone;
    group.arrived &= ~gone;
    if (group.lanes == 0)
      group = {};
    else if (group.arrived == group.lanes)
      go_on(warp, i);
  }
  // Last, so that no lanes that continue take this fragment's place while it is the running one.
  if (warp.lanes == 0) {
    warp.fragments[warp.fragment].state = FragmentState::done;
    warp.leave = true;
  }
}

void release_waiting(Warp& warp) {
  // Long enough that other lanes' work is over in most cases, short enough that a lock is not held for long
  // once lanes are known to wait for those behind them (chosen).
  constexpr std::uint64_t kFirst = 1u << 16, kLater = 1u << 12;
  for (Index i = 0; i < warp.groups.size(); ++i) {
    const ReconvergenceGroup& group = warp.groups[i];
    if (group.arrived == 0 || warp.spent - group.since < (warp.apart ? kLater : kFirst)) continue;
    warp.apart = true;
    go_on(warp, i);
  }
}

bool release_all_waiting(Warp& warp) {
  bool released = false;
  for (Index i = 0; i < warp.groups.size(); ++i) {
    if (warp.groups[i].arrived == 0) continue;
    warp.apart = released = true;
    go_on(warp, i);
  }
  return released;
}

void block_at_barrier(Warp& warp, std::uint32_t barrier) {
  Fragment& fragment = warp.fragments[warp.fragment];
  fragment.state = FragmentState::at_barrier;
  fragment.barrier = barrier;
  fragment.pc = warp.pc;  // the barrier may open at once, and looks for its op before this place
  warp.leave = true;
}

}  // namespace ak::emulator
