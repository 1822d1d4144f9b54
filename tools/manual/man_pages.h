// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "tools/manual/command_tree.h"

namespace ak::tools {

/// A page of section 1 for the program, for each of its subcommands ("alphakernel-db.1") and for each other
/// name of a subcommand ("generate_kernel.1"): texts for man(7), by file name.
[[nodiscard]] std::map<std::string, std::string> man_pages(const CommandText& program,
                                                           const std::string& version);

}  // namespace ak::tools
