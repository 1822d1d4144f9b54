// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "emulator/check/async_checker.h"
#include "emulator/check/checker.h"
#include "emulator/check/global_shadow.h"
#include "emulator/check/launch_footprint.h"
#include "emulator/check/shared_shadow.h"

namespace ak::emulator {

/// A buffer as messages name it, and where an address lies in it.
struct NamedPlace {
  std::string buffer;
  std::int64_t byte_offset = 0;
  std::uint64_t buffer_bytes = 0;
};

/// One instruction that touches memory, and what it asks for.
struct CheckedAccess {
  Warp& warp;
  const Op& op;
  Space space = Space::global;
  Touch touch;
  std::uint64_t range_bytes = 0;  ///< of a range on behalf of one lane; 0: touch.bytes at each lane
  [[nodiscard]] std::uint64_t bytes() const { return range_bytes != 0 ? range_bytes : touch.bytes; }
};

/// Where values that no one wrote came from: the last time that an instruction brought some in.
struct UndefinedOrigin {
  FaultKind kind = FaultKind::uninitialized_read;
  Space space = Space::none;
  Touch touch;
  std::uint32_t lanes = 0;                        ///< that did
  std::array<std::uint64_t, kLanes> addresses{};  ///< by lane; of a shuffle the lane that was read
};

/// A store that ran into another write.
struct UnsettledStore {
  Finding finding;
  std::uint32_t lanes = 0;
};

/// 32 offsets in one memory; those of lanes outside the mask repeat one inside, so that all can be looked at.
struct Offsets {
  alignas(64) std::uint64_t at[kLanes];
  LanePattern pattern = LanePattern::scattered;
};

struct Checker::State {
  explicit State(Launch& of);

  [[nodiscard]] SharedShadow& shadow(const Block& block);
  [[nodiscard]] std::uint32_t shared(const CheckedAccess& request, const std::uint64_t* addresses,
                                     std::uint32_t mask);
  [[nodiscard]] std::uint32_t cluster(const CheckedAccess& request, const std::uint64_t* addresses,
                                      std::uint32_t mask);
  [[nodiscard]] std::uint32_t remote(const CheckedAccess& request, Block& owner, std::uint64_t address,
                                     std::uint32_t offset, int lane);
  [[nodiscard]] std::uint32_t local(const CheckedAccess& request, const std::uint64_t* addresses,
                                    std::uint32_t mask);
  [[nodiscard]] std::uint32_t parameters(const CheckedAccess& request, const std::uint64_t* addresses,
                                         std::uint32_t mask);
  [[nodiscard]] std::uint32_t global(const CheckedAccess& request, const std::uint64_t* addresses,
                                     std::uint32_t mask);
  [[nodiscard]] std::uint32_t global_by_lane(const CheckedAccess& request, const std::uint64_t* addresses,
                                             std::uint32_t mask);
  [[nodiscard]] bool global_run(const CheckedAccess& request, const Run& run);
  [[nodiscard]] bool local_run(const CheckedAccess& request, const Run& run);
  [[nodiscard]] bool shared_run(const CheckedAccess& request, const Run& run);
  [[nodiscard]] bool global_range(const CheckedAccess& request, std::uint64_t address, int lane);
  [[nodiscard]] bool shared_range(const CheckedAccess& request, std::uint64_t address, int lane);
  [[nodiscard]] std::optional<FaultKind> global_fault(const CheckedAccess& request,
                                                      std::uint64_t address) const;

  [[nodiscard]] bool let_through(const CheckedAccess& request, std::uint64_t address, FaultKind fault) const;

  /// Lanes that lie in [0, size) and are aligned, and where; faults for the others.
  [[nodiscard]] std::uint32_t in_bounds(const CheckedAccess& request, const std::uint64_t* addresses,
                                        std::uint32_t mask, std::uint64_t size, Offsets& offsets);
  [[nodiscard]] std::uint32_t in_variable(const CheckedAccess& request, const std::uint64_t* addresses,
                                          std::uint32_t mask);
  [[nodiscard]] bool follows_variable(const CheckedAccess& request) const;
  [[nodiscard]] bool run_in_variable(const CheckedAccess& request, const Run& run) const;
  /// What lanes read through the async proxy, and it may not see the last writes of.
  void check_proxies(const CheckedAccess& request, const std::uint64_t* offsets, std::uint32_t mask);
  /// Words that a non-coherent load reads, and that the launch has written.
  void check_coherence(const CheckedAccess& request, const std::uint64_t* offsets, std::uint32_t mask);
  /// Launches of a stream that overlap (launch_footprint.h).
  [[nodiscard]] bool follows_launches(const Block& block) const {
    return footprint != nullptr || !block.waited;
  }
  void note_touched(const CheckedAccess& request, const std::uint64_t* offsets, std::uint32_t mask);
  void across_launches(const CheckedAccess& request, std::uint64_t offset, int lane);
  void strong_access(const CheckedAccess& request, std::uint32_t lanes);
  void report(const CheckedAccess& request, FaultKind kind, int lane, std::uint64_t address,
              std::uint32_t lanes, std::string detail = {});
  /// Lanes that read bytes whose `states` say that nothing has written them.
  void read_unwritten(const CheckedAccess& request, const std::uint64_t* addresses, std::uint32_t lanes,
                      const std::uint8_t* states, const Offsets& offsets);
  [[nodiscard]] bool can_be_followed(const CheckedAccess& request) const;
  [[nodiscard]] std::uint8_t origin_of(const UndefinedOrigin& origin);
  /// Between threads of a block, or a thread and a copy.
  void report_race(const CheckedAccess& request, const Conflict& conflict, std::uint64_t base);
  void report_conflict(const CheckedAccess& request, const Conflict& conflict, std::uint64_t base);
  void add_pair(const CheckedAccess& request, const Conflict& conflict, Finding finding,
                std::uint64_t address);
  void place(const CheckedAccess& request, Finding& finding, std::uint64_t address) const;
  [[nodiscard]] bool waits_for_values(const CheckedAccess& request, const Conflict& conflict) const;
  /// Races within the block; `offsets` count from the arena's base.
  void global_lanes(const CheckedAccess& request, const std::uint64_t* offsets, std::uint32_t mask,
                    LanePattern pattern);
  void add(const CheckedAccess& request, Finding finding, std::uint64_t address, std::uint64_t times);
  [[nodiscard]] NamedPlace name(const CheckedAccess& request, std::uint64_t address) const;
  [[nodiscard]] NamedPlace name_shared(std::uint64_t offset, std::uint64_t shared_bytes) const;
  [[nodiscard]] std::array<std::uint32_t, 3> block_id(std::uint32_t linear) const;

  Launch& launch;
  /// Blocks that run, by their number in the grid.
  std::unordered_map<std::uint32_t, const Block*> running;
  GlobalShadow global_shadow{[this](BlockRecord record, std::uint64_t word, std::uint64_t mask) {
    const auto found = running.find(record.block());
    return found == running.end() || shadow(*found->second).has_published_global(word, record.op(), mask);
  }};
  bool follows_global = false;  ///< blocks can conflict, or loads be stale, and blocks can be numbered
  std::shared_ptr<LaunchFootprint> footprint;  ///< null: the next launch begins after this one
  AsyncChecker async{*this};
  std::vector<UnsettledStore> unsettled;
  std::vector<UndefinedOrigin> origins;  ///< number i + 1 is origins[i]
  std::unordered_map<const Block*, std::unique_ptr<SharedShadow>> shadows;
  const Block* last_block = nullptr;
  SharedShadow* last_shadow = nullptr;
};

}  // namespace ak::emulator
