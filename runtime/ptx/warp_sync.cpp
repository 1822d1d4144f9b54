// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/warp_sync.h"

#include <algorithm>
#include <bit>

namespace ak::ptx {
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

void add_fragment(Warp& warp, Fragment fragment) {
  for (Fragment& old : warp.fragments) {
    if (old.state != FragmentState::done) continue;
    old = std::move(fragment);
    return;
  }
  warp.fragments.push_back(std::move(fragment));
}

/// All members that are left have met: they go on together.
void release_group(Warp& warp, Index which) {
  ReconvergenceGroup& group = warp.groups[which];
  Fragment whole{.pc = group.target + 1,
                 .lanes = group.lanes,
                 .group = group.parent,
                 .state = FragmentState::ready,
                 .wanted = 0,
                 .barrier = 0,
                 .returns = std::move(group.returns)};
  group = {};
  add_fragment(warp, std::move(whole));
}

}  // namespace

bool await_lanes(Warp& warp, const Op& op, std::uint32_t named) {
  if ((named & warp.live & ~warp.mask) == 0) return true;
  Fragment& fragment = warp.fragments[warp.fragment];
  fragment.state = FragmentState::at_warp_sync;
  fragment.wanted = named;
  warp.pc = static_cast<Index>(&op - warp.code);
  warp.leave = true;
  return false;
}

// The fragment falls through; a new one takes the branch. Lanes that leave a loop one by one all wait in the
// same group.
void diverge(Warp& warp, Index target, Index reconvergence) {
  const std::uint32_t taken = warp.mask;
  Index group = warp.fragments[warp.fragment].group;
  const bool same = group != kNone && warp.groups[group].target == reconvergence;
  if (reconvergence != kNone && !same) {
    group = add_group(warp, {.target = reconvergence,
                             .lanes = warp.lanes,
                             .arrived = 0,
                             .parent = group,
                             .returns = warp.fragments[warp.fragment].returns});
  }
  Fragment& rest = warp.fragments[warp.fragment];
  rest.group = group;
  rest.lanes = warp.lanes & ~taken;
  warp.lanes = rest.lanes;
  add_fragment(warp, {.pc = target,
                      .lanes = taken,
                      .group = group,
                      .state = FragmentState::ready,
                      .wanted = 0,
                      .barrier = 0,
                      .returns = warp.fragments[warp.fragment].returns});
}

void arrive_at_join(Warp& warp, Index at) {
  Fragment& fragment = warp.fragments[warp.fragment];
  while (fragment.group != kNone && warp.groups[fragment.group].target == at) {
    ReconvergenceGroup& group = warp.groups[fragment.group];
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
  if (fragment.lanes == 0) {
    fragment.state = FragmentState::done;
    warp.leave = true;
  }
  for (Index i = 0; i < warp.groups.size(); ++i) {
    ReconvergenceGroup& group = warp.groups[i];
    if (group.lanes == 0) continue;
    group.lanes &= ~gone;
    group.arrived &= ~gone;
    if (group.lanes == 0) {
      group = {};
    } else if (group.arrived == group.lanes) {
      release_group(warp, i);
    }
  }
}

void block_at_barrier(Warp& warp, std::uint32_t barrier) {
  Fragment& fragment = warp.fragments[warp.fragment];
  fragment.state = FragmentState::at_barrier;
  fragment.barrier = barrier;
  fragment.pc = warp.pc;  // the barrier may open at once, and looks for its op before this place
  warp.leave = true;
}

}  // namespace ak::ptx
