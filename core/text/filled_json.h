// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/text/json.h"

namespace ak {

/// JSON as a person writes it: an object with a member a line. A member that is a list or an object is on
/// that line where it fits and has only numbers and texts, else each of its entries begins a line; an entry
/// wider than `columns` is broken between its own entries. Numbers and texts are never broken.
/// Throws Json::type_error for text that is not UTF-8.
[[nodiscard]] std::string filled_json(const Json& object, std::size_t columns);

}  // namespace ak
