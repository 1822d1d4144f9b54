// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/search/starting_points.h"
#include "core/plan/problem.h"
#include "core/text/json_reader.h"

namespace ak::app {

// What manifests of experiments and of sessions say in the same way. All throw JsonInputError.

/// Name of an experiment or run: part of file names and of SQL placeholders.
[[nodiscard]] std::string read_name(const JsonReader& at);
/// A text that is not empty. @param what was expected
[[nodiscard]] std::string read_text(const JsonReader& at, std::string_view what);
[[nodiscard]] std::int64_t read_count(const JsonReader& at);  ///< at least 1
/// A number of minutes, or a text such as "2h".
[[nodiscard]] std::chrono::milliseconds read_minutes(const JsonReader& at);
[[nodiscard]] Params read_params(const JsonReader& at);
[[nodiscard]] FixedTunables read_fixed(const JsonReader& at);
[[nodiscard]] std::string read_shape(const JsonReader& at);  ///< "M=4096,N=1000"
/// One shape, or a list of several.
[[nodiscard]] std::vector<std::string> read_shapes(const JsonReader& at);
[[nodiscard]] std::string read_strategy(const JsonReader& at);  ///< a known one

}  // namespace ak::app
