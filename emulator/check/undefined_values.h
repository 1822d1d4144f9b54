// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/machine/warp.h"

namespace ak::emulator {

/// Which bytes of a warp's registers hold what no one wrote. Made when a load first brings such bytes in, so
/// that kernels without them pay nothing. Copies carry them along: a struct has padding, and a tile may be
/// loaded past its end. What depends on them is a fault only when it matters: when it decides a branch, an
/// address, or what a kernel leaves in global memory.
class UndefinedValues {
 public:
  /// Of a byte: 0 when it is defined, else where it came from, with kComputed once it was more than copied.
  using Origin = std::uint8_t;
  static constexpr Origin kComputed = 0x80, kMaxOrigins = 0x7F;

  explicit UndefinedValues(const Program& program);

  /// What `op` makes of them for the lanes in warp.mask; before it runs.
  void follow(Warp& warp, const Op& op);
  /// Bytes that a load is about to bring in; by lane, from the lowest bit on.
  void begin_load(Origin origin, const std::array<std::uint32_t, kLanes>& bytes);
  /// The load has written its elements, each of `memory_bytes` in memory, to `slots`.
  void end_load(std::span<const Slot> slots, std::uint32_t memory_bytes, std::uint32_t register_bytes,
                bool sign_extends);
  /// What begin_load() noted since the last load has ended, for a load that puts the bytes where it wants itself.
  struct Loaded {
    Origin origin = 0;  ///< 0: all bytes are defined
    std::array<std::uint32_t, kLanes> bytes{};
  };
  [[nodiscard]] Loaded take_load();
  /// A lane's bytes of `slot`.
  [[nodiscard]] Origin* at(Slot slot, int lane, std::uint32_t register_bytes);

 private:
  struct Predicate {
    std::uint32_t lanes = 0;
    Origin origin = 0;
  };
  struct Sources;

  [[nodiscard]] Origin state_of(const FlowOperand& operand, int lane, std::uint32_t byte) const;
  [[nodiscard]] Origin any_of(const FlowOperand& operand, int lane) const;
  [[nodiscard]] Origin result_of(const Warp& warp, const Sources& sources, FlowKind kind, int lane,
                                 std::uint32_t byte, Origin whole) const;
  [[nodiscard]] Origin of_all(const Sources& sources, std::uint32_t lanes) const;
  [[nodiscard]] std::uint32_t undefined_predicates(const Warp& warp, const Sources& sources,
                                                   FlowKind kind) const;
  void check_uses(Warp& warp, const Op& op, const Sources& sources) const;
  void write(Warp& warp, const Sources& sources, FlowKind kind);

  std::vector<Origin> registers_;
  std::vector<Predicate> predicates_;
  Loaded loading_;
};

}  // namespace ak::emulator
