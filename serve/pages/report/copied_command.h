// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "db/read/reader.h"

namespace ak::pages {

/// The command line that searches for a kernel of an algorithm.
/// @param flags a JSON object: params of the algorithm and other flags of generate, by their names
/// Empty where a name or value has characters that a shell would take for something else: a line that a database brings
/// along is for copying only when it is harmless.
[[nodiscard]] std::string search_command(std::string_view algorithm, std::string_view flags);

/// Gives SQL the function search_command(algorithm, flags).
void define_search_command(db::Reader& reader);

}  // namespace ak::pages
