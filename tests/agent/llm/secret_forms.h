// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ak::agent {

/// A secret as it is and as it looks within JSON, addresses, base64 (wherever in a longer text it begins) and
/// hexadecimal; the longest first.
[[nodiscard]] std::vector<std::string> secret_forms(std::string_view secret);

}  // namespace ak::agent
