// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "emulator/lower/program.h"
#include "emulator/machine/arena.h"
#include "emulator/machine/counters.h"
#include "emulator/machine/device_identity.h"
#include "emulator/machine/findings.h"

namespace ak::emulator {

class Checker;
class LaunchFootprint;
class UndefinedValues;
class WgmmaRegisters;
struct Block;
struct Launch;

inline constexpr int kLanes = 32;
inline constexpr std::uint32_t kAllLanes = 0xFFFFFFFFu;

/// Where a call comes back to.
struct ReturnPoint {
  Index pc = 0;  ///< the op behind the call
  /// The caller's rows and predicates, when the call may use them itself; lanes share it when they part.
  std::shared_ptr<const std::vector<std::byte>> saved;
  bool operator==(const ReturnPoint&) const = default;
};

/// Lanes that reconverge at one place (the immediate post-dominator of the branch that split them).
struct ReconvergenceGroup {
  Index target = kNone;              ///< op where they meet; kNone: never (they run apart until they exit)
  std::uint32_t lanes = 0;           ///< members that have not exited
  std::uint32_t arrived = 0;         ///< members waiting at target
  std::uint64_t since = 0;           ///< Warp::spent when the first of them arrived
  Index parent = kNone;              ///< group of the whole after they met
  std::vector<ReturnPoint> returns;  ///< of the members
};

enum class FragmentState : std::uint8_t { ready, at_barrier, at_warp_sync, done };

/// Lanes of a warp that run together.
struct Fragment {
  Index pc = 0;
  std::uint32_t lanes = 0;
  Index group = kNone;
  FragmentState state = FragmentState::ready;
  std::uint32_t wanted = 0;          ///< at_warp_sync: lanes the instruction names
  std::uint32_t barrier = 0;         ///< at_barrier: which
  std::vector<ReturnPoint> returns;  ///< of the calls it is in, outermost first
};

/// A copy that has been issued but has not happened: performed when the wait that covers it is executed.
struct PendingCopy {
  std::uint32_t lane = 0;
  std::uint32_t shared_offset = 0;
  std::uint64_t global = 0;
  std::uint32_t bytes = 0, source_bytes = 0;  ///< the rest is filled with zeros
  Index op = kNone;
};

/// Lanes of a warp that execute one instruction of several that mean the same, all at once.
struct MeetingPlace {
  const Op* op = nullptr;
  std::uint32_t lanes = 0;
};

/// One warp. While an op runs, `mask` holds the lanes it acts on and `lanes` those of the running fragment.
struct Warp {
  std::byte* registers = nullptr;
  const std::byte* constants = nullptr;
  std::uint32_t* predicates = nullptr;
  std::uint32_t mask = 0;
  std::uint32_t lanes = 0;
  Index pc = 0;        ///< of the next op; a handler may set it
  bool leave = false;  ///< set by a handler to end the run of this fragment: it blocked, exited or split
  bool yield = false;  ///< set by a handler that waits for others (a spin on a barrier): run someone else

  const Op* code = nullptr;  ///< Program::code
  Block* block = nullptr;
  Launch* launch = nullptr;
  std::byte* local = nullptr;             ///< 32 x Program::local_bytes, one lane after the other
  std::uint8_t* local_written = nullptr;  ///< as many bytes, 1: written; null when not checked
  std::uint32_t index = 0;                ///< in its block
  std::uint32_t live = 0;                 ///< lanes that have not exited
  Index fragment = 0;                     ///< the running one
  std::vector<Fragment> fragments;
  std::vector<ReconvergenceGroup> groups;
  /// While an op runs that lanes have met at in several places: those, from the lowest op on. Else empty.
  std::vector<MeetingPlace> places;
  std::uint64_t instructions = 0;  ///< issued so far
  std::uint64_t spent = 0;         ///< the same, with a fee for each turn that ended in a wait
  bool apart = false;              ///< lanes continued from where others should have met them
  Index waits_at = kNone;          ///< op of a wait for an mbarrier's phase that failed when last tried

  /// cp.async: groups committed and not yet waited for, oldest first; the last one is open.
  std::deque<std::vector<PendingCopy>> copy_groups;
  std::shared_ptr<WgmmaRegisters> wgmma;  ///< of a warp that is checked and has executed wgmma
  /// Null while every register holds what someone wrote; made by the checker.
  std::shared_ptr<UndefinedValues> undefined;
  std::uint32_t cluster_arrived = 0;  ///< lanes that have arrived in the cluster barrier's present phase
  std::vector<std::byte> storage;     ///< behind registers, predicates and local
};

/// State of bar/barrier resource 0 ... 15.
struct NamedBarrier {
  std::uint32_t arrived = 0;                 ///< threads
  std::uint32_t expected = 0;                ///< threads; 0: all of the block that have not exited
  Index first_op = kNone;                    ///< op of the first arrival in this phase
  std::vector<std::uint32_t> arrived_lanes;  ///< by warp
  std::uint32_t reduction_and = 1, reduction_or = 0, reduction_count = 0;  ///< barrier.red
  std::uint64_t phase = 0;
};

/// Work that the async proxy owes (bulk copies): performed in order when the scheduler gets to it.
using AsyncWork = std::function<void(Launch&)>;

struct Block {
  std::uint64_t linear = 0;  ///< x fastest
  std::array<std::uint32_t, 3> id{};
  std::uint32_t cluster_rank = 0;  ///< of this block in its cluster
  std::vector<Block*> cluster;     ///< all blocks of its cluster by rank; itself only without clusters
  std::byte* shared = nullptr;     ///< 1024-byte aligned
  std::uint32_t shared_bytes = 0;  ///< static and dynamic
  std::uint32_t threads = 0, live_threads = 0;
  std::vector<Warp> warps;
  std::array<NamedBarrier, 16> barriers;
  std::deque<AsyncWork> async_work;
  std::vector<std::byte> shared_storage;
  std::vector<std::uint8_t> shared_written;  ///< 1: written; empty when not checked
  bool waited = true;                        ///< the launch before has ended, for all that this block knows
};

struct LaunchOptions {
  bool check = true;                     ///< the memory, race and barrier checker
  bool count_memory = false;             ///< sectors, bank conflicts, divergence per op
  std::uint64_t seed = 0;                ///< of the order in which warps and blocks take turns; 0: in order
  std::uint64_t instruction_budget = 0;  ///< warp instructions of the whole launch; 0: no limit
};

/// One launch while it runs. One thread.
struct Launch {
  const Program& program;
  Arena& arena;
  LaunchOptions options;
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  std::vector<std::byte> parameters;  ///< Program::parameter_bytes
  Findings& findings;
  Counters& counters;
  Checker* checker = nullptr;                     ///< null: checks are off
  std::function<void(const std::string&)> print;  ///< device printf
  bool stop = false;                              ///< set by a fault after which nothing can continue
  std::uint64_t launch_base = 0;  ///< number of the first block, counted over launches (for the checker)
  std::uint64_t clock = 0;        ///< warp instructions so far
  DeviceIdentity device;
  std::uint64_t workspace = 0;              ///< device address of the cooperative grid's; 0: there is none
  const LaunchFootprint* before = nullptr;  ///< of the launch that may still run; null: none does
  LaunchFootprint* touched = nullptr;       ///< LaunchRequest::touched

  /// Records a fault of lane `lane` of `warp` at `op`. A fault found while checks are off, or one after which
  /// the kernel cannot continue, must also set `stop`.
  void fault(const Warp& warp, const Op& op, FaultKind kind, int lane, const std::string& detail = {});
};

/// Index of a thread in its block, from warp and lane, and its coordinates.
[[nodiscard]] std::array<std::uint32_t, 3> thread_of(const Warp& warp, int lane);

}  // namespace ak::emulator
