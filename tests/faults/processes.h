// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <vector>

namespace ak::testing {

/// While it lives, what a killed child of this process leaves running becomes this process's child, so that
/// none can hide.
class Subreaper {
 public:
  Subreaper();
  ~Subreaper();
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;

  /// Reaps children until none is left; false when some do not end by themselves. Those are then killed.
  [[nodiscard]] static bool all_end();
};

/// Direct children of a process, at this moment.
[[nodiscard]] std::vector<pid_t> children_of(pid_t parent);

/// How often a test kills: `sample` times in continuous integration, $AK_SOAK_ITERATIONS times where that is set.
[[nodiscard]] int kills(int sample);

}  // namespace ak::testing
