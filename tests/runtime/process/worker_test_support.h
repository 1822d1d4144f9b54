// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/build.h"
#include "tests/support/patience.h"

namespace ak::runtime {

using testing::in_the_end;
using testing::kPatience;
using testing::out_of_patience;

inline std::chrono::steady_clock::time_point in(std::chrono::milliseconds span) {
  return std::chrono::steady_clock::now() + span;
}

/// This program as a worker; "--role ..." is to be appended.
[[nodiscard]] std::vector<std::string> worker_command();
/// Processes started by this one that still exist, zombies included.
[[nodiscard]] std::vector<pid_t> children();
/// Waits until `pid` has ended (it may still be a zombie of a parent that does not reap); false where
/// it does not.
[[nodiscard]] bool ends(pid_t pid);

/// A translation unit for sm_90a as assembled for a candidate k.cu.
[[nodiscard]] TranslationUnit unit_of(std::string source, std::vector<std::string> kernels = {"k"});

}  // namespace ak::runtime
