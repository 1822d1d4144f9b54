// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "emulator/machine/arena.h"
#include "emulator/parse/type.h"

namespace ak::emulator {

/// The space that a generic address lies in: the window in its high bits says it, and global memory has none.
[[nodiscard]] inline Space space_of_window(std::uint64_t address) {
  switch (address & kWindowMask) {
    case kSharedWindow:
      return Space::shared_cluster;
    case kLocalWindow:
      return Space::local;
    case kParameterWindow:
      return Space::param;
    default:
      return Space::global;
  }
}

}  // namespace ak::emulator
