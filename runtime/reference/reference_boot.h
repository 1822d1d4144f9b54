// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/reference/reference_worker.h"

namespace ak::runtime {

/// What the Python of a reference process begins with (runtime/reference/python/boot.py).
struct PythonBoot {
  std::vector<std::string> path;  ///< where it finds modules
  std::string entry;              ///< module of runtime/reference/python whose main() it runs
  Json launch = Json::object();   ///< what that takes
};

/// The two lines that the process reads first: what it confines itself to, and what its Python runs.
[[nodiscard]] std::string boot_lines(const ReferenceConfinement& confinement, const PythonBoot& boot);

}  // namespace ak::runtime
