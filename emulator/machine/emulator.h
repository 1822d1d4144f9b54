// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "emulator/check/launch_footprint.h"
#include "emulator/lower/program.h"
#include "emulator/machine/arena.h"
#include "emulator/machine/counters.h"
#include "emulator/machine/device_identity.h"
#include "emulator/machine/findings.h"
#include "emulator/machine/warp.h"

namespace ak::emulator {

struct LaunchRequest {
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  std::vector<std::byte> parameters;  ///< laid out as Program::parameters says
  LaunchOptions options;
  std::uint64_t launch_base = 0;
  DeviceIdentity device;
  std::function<void(const std::string&)> print;  ///< may be empty
  /// What the launch before touches, where this one may begin before that has ended; null: it begins after.
  std::shared_ptr<const LaunchFootprint> before;
  /// Gets what the launch reads and writes of global memory, atomics and volatile accesses among it; null: no one asks.
  /// Needs LaunchOptions::check.
  LaunchFootprint* touched = nullptr;
};

struct LaunchReport {
  Findings findings;
  Counters counters;
  /// For the next launch, if that may begin early: null unless the program executes
  /// griddepcontrol.launch_dependents, without which the next begins at the end.
  std::shared_ptr<const LaunchFootprint> footprint;
};

/// Memory that the blocks of one cluster take together while they run: registers, local and shared memory.
[[nodiscard]] std::uint64_t resident_bytes(const Program& program, const LaunchRequest& request);
/// Of which a launch may take this much (chosen).
inline constexpr std::uint64_t kMaxResidentBytes = 4ull << 30;

/// Runs a whole grid on the calling thread. Blocks have 1 to 1024 threads, the grid consists of whole
/// clusters, and their resident_bytes are within the limit. What the kernel does wrong is in the findings;
/// nothing is thrown for it. Deterministic in program, request and memory contents.
[[nodiscard]] LaunchReport run_grid(const Program& program, Arena& arena, const LaunchRequest& request);

}  // namespace ak::emulator
