// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace ak {

/// Objects keep the order they were written in: FlashInfer-Bench gives the order of inputs a meaning.
using Json = nlohmann::ordered_json;

// The parser is compiled once, in json.cpp: a file that calls Json::parse() itself takes
// three seconds longer.

/// Throws Json::parse_error where `text` is not JSON.
[[nodiscard]] Json parse_json(std::string_view text);
/// A value whose is_discarded() is true where `text` is not JSON.
[[nodiscard]] Json try_parse_json(std::string_view text);

}  // namespace ak

// Compiled once, in json.cpp, and not in every file that uses JSON.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
extern template class nlohmann::detail::serializer<ak::Json>;
extern template struct nlohmann::ordered_map<std::string, ak::Json>;
extern template class std::vector<ak::Json>;
