// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace ak::db {

/// ISO 8601 with milliseconds: sorts as text.
[[nodiscard]] std::string utc(std::chrono::system_clock::time_point time);
[[nodiscard]] inline std::string utc_now() { return utc(std::chrono::system_clock::now()); }

}  // namespace ak::db
