// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/evaluation.h"
#include "core/text/json.h"

namespace ak::db {

// How values of the program become values of columns.

/// Metrics of a kernel that prepares weights.
inline constexpr std::string_view kPrepareTime = "prepare/time", kPrepareBytes = "prepare/bytes";

/// Seeds are unsigned 64-bit values, SQLite integers are signed: the same bits.
[[nodiscard]] std::int64_t as_signed(std::uint64_t value);

/// NaN and infinity are unknown: NULL.
[[nodiscard]] std::optional<double> finite(double value);
/// Where 0 and less mean that a number is not known.
[[nodiscard]] std::optional<double> positive(double value);
[[nodiscard]] std::optional<std::int64_t> positive(int value);

/// The empty text is NULL.
[[nodiscard]] std::optional<std::string_view> not_empty(std::string_view text);

/// JSON text that stays valid whatever bytes a candidate put into a message.
[[nodiscard]] std::string stored_json(const Json& json);
[[nodiscard]] Json params_json(const Params& params);

/// "build", "check" or "time".
[[nodiscard]] std::string_view stored_name(Depth depth);
/// "emulator", "gpu" or "deep".
[[nodiscard]] std::string_view stored_name(WorkloadTier tier);

/// Samples as bytes: 32 bits each, the lowest byte first.
[[nodiscard]] std::vector<unsigned char> little_endian(const std::vector<std::uint32_t>& samples);
/// And back; bytes that are no whole sample are left out.
[[nodiscard]] std::vector<std::uint32_t> samples_of(const std::vector<unsigned char>& bytes);

}  // namespace ak::db
