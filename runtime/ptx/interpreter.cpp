// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/interpreter.h"

#include <bit>

#include "runtime/ptx/checker.h"
#include "runtime/ptx/lanes.h"

namespace ak::ptx {
namespace {

/// The hot loop: one fragment until it leaves or the quantum is used up.
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
    if (mask == 0) continue;
    warp.mask = mask;
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

/// Lanes waiting at op `pc` for each other.
std::uint32_t lanes_at(const Warp& warp, Index pc) {
  std::uint32_t lanes = 0;
  for (const Fragment& fragment : warp.fragments) {
    if (fragment.state == FragmentState::at_warp_sync && fragment.pc == pc) lanes |= fragment.lanes;
  }
  return lanes;
}

/// Executes one op for fragments that have met there, each of which goes on by itself afterwards.
void execute_together(Warp& warp, Index pc, std::uint32_t lanes) {
  const Op& op = warp.code[pc];
  for (Fragment& fragment : warp.fragments) {
    if (fragment.state != FragmentState::at_warp_sync || fragment.pc != pc) continue;
    fragment.pc = pc + 1;
    fragment.state = FragmentState::ready;
  }
  warp.lanes = lanes;
  warp.pc = pc + 1;
  warp.mask = op.guard != kTrue ? lanes & predicate(warp, op.guard) : lanes;
  OpCount& count = warp.launch->counters.ops[pc];
  ++count.warps;
  if (warp.mask != 0) op.run(warp, op);
}

/// Barriers of lanes written at several places (both sides of a branch) are one barrier to the hardware.
bool meet_at_barriers(Warp& warp, const Fragment& waiting) {
  const Handler run = warp.code[waiting.pc].run;
  if (warp.launch->program.facts[waiting.pc].kind != InstructionClass::barrier) return false;
  std::uint32_t lanes = 0;
  for (const Fragment& fragment : warp.fragments) {
    if (fragment.state == FragmentState::at_warp_sync && warp.code[fragment.pc].run == run)
      lanes |= fragment.lanes;
  }
  if ((waiting.wanted & warp.live & ~lanes) != 0) return false;
  for (Fragment& fragment : warp.fragments) {
    if (fragment.state != FragmentState::at_warp_sync || warp.code[fragment.pc].run != run) continue;
    ++fragment.pc;
    fragment.state = FragmentState::ready;
  }
  if (warp.launch->checker != nullptr) warp.launch->checker->warp_synced(warp, lanes);
  return true;
}

bool meet(Warp& warp) {
  for (const Fragment& fragment : warp.fragments) {
    if (fragment.state != FragmentState::at_warp_sync) continue;
    const std::uint32_t here = lanes_at(warp, fragment.pc);
    if ((fragment.wanted & warp.live & ~here) == 0) {
      execute_together(warp, fragment.pc, here);
      return true;
    }
    if (meet_at_barriers(warp, fragment)) return true;
  }
  return false;
}

}  // namespace

bool finished(const Warp& warp) { return warp.live == 0; }

std::uint64_t run_warp(Warp& warp, std::uint64_t quantum) {
  std::uint64_t issued = 0;
  bool rotate = false;
  while (issued < quantum && !warp.launch->stop) {
    if (!choose_fragment(warp, rotate)) {
      if (!meet(warp)) break;
      ++issued;
      continue;
    }
    const Index running = warp.fragment;
    warp.pc = warp.fragments[running].pc;
    warp.lanes = warp.fragments[running].lanes;
    warp.yield = false;
    const std::uint64_t ran = run_fragment(warp, quantum - issued);
    warp.fragments[running].pc = warp.pc;
    issued += ran;
    warp.launch->clock += ran;
    rotate = warp.yield;
    if (warp.yield) break;
  }
  // Next time another fragment begins: one that spins must not starve the lanes it waits for.
  if (warp.fragments.size() > 1 && (warp.yield || issued >= quantum))
    warp.fragment = (warp.fragment + 1) % static_cast<Index>(warp.fragments.size());
  warp.instructions += issued;
  return issued;
}

}  // namespace ak::ptx
