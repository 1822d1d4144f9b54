// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ak::db {

/// Under which name `metrics` keeps the samples of a source line: "line/42/barrier".
[[nodiscard]] std::string line_metric(int line, std::string_view reason);

/// The line and the reason of such a name; nothing for another name.
[[nodiscard]] std::optional<std::pair<int, std::string>> line_of_metric(std::string_view name);

}  // namespace ak::db
