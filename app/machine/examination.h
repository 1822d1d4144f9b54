// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/setup/config.h"

namespace ak::app {

/// Something that the program uses, and whether it is there.
struct MachinePart {
  std::string part;
  bool present = false;
  std::string detail;      ///< what was found, or why it was not
  std::string cost;        ///< what does not work without it
  std::string remedy;      ///< how to get it
  bool essential = false;  ///< without it no kernel can be built, or it was asked for by name
};

/// Looks for all of them: starts workers and asks the providers of the models that are named. Blocks for seconds.
[[nodiscard]] std::vector<MachinePart> examine_machine(const Config& config,
                                                       const std::vector<std::string>& models);

}  // namespace ak::app
