// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/interpreter.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/check/undefined_values.h"
#include "emulator/check/wgmma_registers.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/warp_sync.h"

namespace ak::emulator {
namespace {

/// The hot loop: one fragment until it leaves or the quantum is used up. Watched: every op is first shown to
/// Warp::wgmma and Warp::undefined. An op that makes one of them leaves the loop, so that it is watched from
/// then on.
template <bool kWatched>
std::uint64_t run_fragment(Warp& warp, std::uint64_t quantum) {
  const Op* const code = warp.code;
  OpCount* const counts = warp.launch->counters.ops.data();
  warp.leave = false;
  std::uint64_t left = quantum;
  while (left-- > 0) {
    const Index pc = warp.pc;
    const Op& op = code[pc];
    std::uint32_t mask = warp.lanes;
    if (op.guard != kTrue) mask &= predicate(warp, op.guard);
    ++counts[pc].warps;
    counts[pc].threads += static_cast<std::uint64_t>(std::popcount(mask));
    warp.pc = pc + 1;
    if constexpr (kWatched) {
      warp.mask = mask;
      if (warp.undefined != nullptr) warp.undefined->follow(warp, op);
      if (warp.launch->stop) return quantum - left;
    }
    if (mask == 0) continue;
    warp.mask = mask;
    if constexpr (kWatched) {
      if (warp.wgmma != nullptr) warp.wgmma->step(warp, pc);
    }
    op.run(warp, op);
    if (warp.leave || warp.launch->stop) return quantum - left;
  }
  return quantum;
}

/// The next fragment that can run, starting after the present one if that should `rotate`.
bool choose_fragment(Warp& warp, bool rotate) {
  const auto count = static_cast<Index>(warp.fragments.size());
  for (Index i = 0; i < count; ++i) {
    const Index candidate = (warp.fragment + i + (rotate ? 1 : 0)) % count;
    if (warp.fragments[candidate].state != FragmentState::ready) continue;
    warp.fragment = candidate;
    return true;
  }
  return false;
}

// What the lanes that a mask names execute together wherever they are: both sides of a branch may have one (CUDA C++
// Programming Guide, "Independent Thread Scheduling"). PTX calls it "the same instruction": the same modifiers.
// Instructions that are .aligned are not among them.
constexpr std::string_view kMeetAnywhere[] = {"bar.warp.sync", "shfl.sync.",  "vote.sync.",
                                              "match.",        "redux.sync.", "elect.sync"};

/// Fragments that wait for each other may wait at one op, or on several that mean the same.
bool can_meet(const Warp& warp, const Fragment& a, const Fragment& b) {
  if (b.state != FragmentState::at_warp_sync) return false;
  if (a.pc == b.pc) return true;
  const std::vector<OpFacts>& facts = warp.launch->program.facts;
  return a.wanted == b.wanted && warp.code[a.pc].run == warp.code[b.pc].run &&
         facts[a.pc].spelling == facts[b.pc].spelling &&
         std::ranges::any_of(kMeetAnywhere,
                             [&](std::string_view which) { return facts[a.pc].spelling.starts_with(which); });
}

/// Lanes that `first` waits with, and for; 0 when some of them are missing.
std::uint32_t participant_of(const Warp& warp, const Fragment& first) {
  std::uint32_t lanes = first.lanes, wanted = first.wanted;
  for (bool grows = true; grows;) {
    grows = false;
    for (const Fragment& other : warp.fragments) {
      if ((other.lanes & ~lanes & wanted) == 0 || !can_meet(warp, first, other)) continue;
      lanes |= other.lanes;
      wanted |= other.wanted;
      grows = true;
    }
  }
  return (wanted & warp.live & ~lanes) == 0 ? lanes : 0;
}

/// Fragments of the same place that meet again at the same place are one from here on.
void merge(Warp& warp, std::uint32_t lanes) {
  for (Fragment& into : warp.fragments) {
    if (into.state != FragmentState::ready || (into.lanes & lanes) == 0) continue;
    for (Fragment& other : warp.fragments) {
      if (&other == &into || other.state != FragmentState::ready || (other.lanes & lanes) == 0) continue;
      if (other.pc != into.pc || other.group != into.group || other.returns != into.returns) continue;
      into.lanes |= other.lanes;
      other.state = FragmentState::done;
      other.lanes = 0;
    }
  }
}

/// Sends the fragments of `lanes` on, and says which ops they have waited at.
std::vector<MeetingPlace> leave_places(Warp& warp, std::uint32_t lanes) {
  std::map<Index, std::uint32_t> places;
  for (Fragment& fragment : warp.fragments) {
    if (fragment.state != FragmentState::at_warp_sync || (fragment.lanes & lanes) == 0) continue;
    places[fragment.pc] |= fragment.lanes;
    ++fragment.pc;
    fragment.state = FragmentState::ready;
  }
  std::vector<MeetingPlace> found;
  for (const auto& [pc, here] : places) found.push_back({.op = warp.code + pc, .lanes = here});
  return found;
}

/// Executes the op that `lanes` wait at, or the ops: then the first of them counts.
void execute_together(Warp& warp, std::uint32_t lanes) {
  std::vector<MeetingPlace> places = leave_places(warp, lanes);
  const Op& op = *places.front().op;
  const Index pc = warp.launch->program.index_of(op);
  ++warp.launch->counters.ops[pc].warps;
  ++warp.launch->clock;
  warp.lanes = lanes;
  warp.pc = pc + 1;
  for (const MeetingPlace& place : places) {
    warp.mask = place.lanes;
    if (warp.undefined != nullptr) warp.undefined->follow(warp, *place.op);
  }
  warp.mask = lanes;
  if (places.size() > 1) warp.places = std::move(places);
  op.run(warp, op);
  warp.places.clear();
  merge(warp, lanes);
}

bool meet(Warp& warp) {
  for (const Fragment& fragment : warp.fragments) {
    if (fragment.state != FragmentState::at_warp_sync) continue;
    const std::uint32_t lanes = participant_of(warp, fragment);
    if (lanes == 0) continue;
    execute_together(warp, lanes);
    return true;
  }
  return false;
}

/// Next time another fragment begins: one that spins must not starve the lanes it waits for.
void end_turn(Warp& warp, std::uint64_t issued, bool used_up) {
  constexpr std::uint64_t kWaitCost = 64;  // a turn that ends in a wait is short, and costs others theirs
  warp.spent += issued + (warp.yield ? kWaitCost : 0);
  if (!warp.yield && !used_up) return;
  warp.fragment = (warp.fragment + 1) % static_cast<Index>(warp.fragments.size());
  release_waiting(warp);
}

}  // namespace

bool finished(const Warp& warp) { return warp.live == 0; }

std::uint64_t run_warp(Warp& warp, std::uint64_t quantum) {
  std::uint64_t issued = 0;
  bool rotate = false;
  while (issued < quantum && !warp.launch->stop) {
    // Before any lanes continue: those that are ready may spin until those that have met are further.
    if (meet(warp)) {
      ++issued;
      continue;
    }
    if (!choose_fragment(warp, rotate)) break;
    const Index running = warp.fragment;
    warp.pc = warp.fragments[running].pc;
    warp.lanes = warp.fragments[running].lanes;
    warp.yield = false;
    const bool watched = warp.wgmma != nullptr || warp.undefined != nullptr;
    const auto run = watched ? run_fragment<true> : run_fragment<false>;
    const std::uint64_t ran = run(warp, quantum - issued);
    warp.fragments[running].pc = warp.pc;
    issued += ran;
    warp.launch->clock += ran;
    rotate = warp.yield;
    if (warp.yield) break;
  }
  if (warp.fragments.size() > 1) end_turn(warp, issued, issued >= quantum);
  warp.instructions += issued;
  return issued;
}

}  // namespace ak::emulator
