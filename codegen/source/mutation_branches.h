// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ak::codegen {

/// A reference's source as it is read without the mistakes that the audit plants in it: without the branches that only a
/// macro AK_MUTATION_... turns on, and without conditions that ask for such macros alone. Conditions that ask for others,
/// too, stay as they are. Text whose conditions do not fit together comes back unchanged.
[[nodiscard]] std::string without_mutations(std::string_view source);

}  // namespace ak::codegen
