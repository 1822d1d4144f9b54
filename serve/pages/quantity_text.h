// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ak::db {
class Reader;
}

namespace ak::pages {

/// An integer with its thousands apart: "1,234,567".
[[nodiscard]] std::string count_text(std::int64_t value);

/// A number with four significant digits, plain where people would write it plain: "32.64", "12,346", "1.230e-05".
[[nodiscard]] std::string number_text(double value);

/// A quantity with the unit that suits its size: quantity_text(32741, "ns") is "32.74 µs". Units are "ns", "us", "ms",
/// "seconds", "minutes", "hours" (all times: "4.2 min"), "bytes" ("60 MiB"), "usd" ("US$ 1.20"), "pct" ("87.3 %"),
/// "ratio" ("2.32×") and "count" ("1.235 million"). Throws Error(bad_input) for another unit.
[[nodiscard]] std::string quantity_text(double value, std::string_view unit);

/// A CUDA version as NVIDIA writes it: 13000 is "13.0".
[[nodiscard]] std::string cuda_version_text(std::int64_t version);

/// "2026-11-22T05:24:48.131Z" to the minute, "2026-11-22 05:24"; anything else as it is.
[[nodiscard]] std::string moment_text(const std::string& text);

/// Gives SQL the function quantity(value, unit), which is quantity_text(); NULL for NULL, "–" for what is no number.
void define_quantity(db::Reader& reader);

}  // namespace ak::pages
