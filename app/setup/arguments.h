// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ak::app {

using Arguments = std::vector<std::string>;  ///< without the program and subcommand names

}  // namespace ak::app
