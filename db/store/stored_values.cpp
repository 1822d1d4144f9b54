// SPDX-License-Identifier: Apache-2.0
#include "db/store/stored_values.h"

#include <array>
#include <bit>
#include <cmath>

namespace ak::db {
namespace {

// Spellings stored in the file: never renamed.
constexpr std::array<std::string_view, 3> kDepthNames{"build", "check", "time"};
constexpr std::array<std::string_view, 3> kTierNames{"emulator", "gpu", "deep"};

}  // namespace

std::int64_t as_signed(std::uint64_t value) { return std::bit_cast<std::int64_t>(value); }

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}
std::optional<double> positive(double value) { return value > 0 ? finite(value) : std::nullopt; }
std::optional<std::int64_t> positive(int value) {
  return value > 0 ? std::optional<std::int64_t>(value) : std::nullopt;
}

std::optional<std::string_view> not_empty(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::string stored_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json params_json(const Params& params) {
  Json json = Json::object();
  for (const auto& [name, value] : params)
    std::visit([&cell = json[name]](const auto& v) { cell = v; }, value);
  return json;
}

std::string_view stored_name(Depth depth) { return kDepthNames.at(static_cast<std::size_t>(depth)); }
std::string_view stored_name(WorkloadTier tier) { return kTierNames.at(static_cast<std::size_t>(tier)); }

std::vector<unsigned char> little_endian(const std::vector<std::uint32_t>& samples) {
  std::vector<unsigned char> bytes;
  bytes.reserve(4 * samples.size());
  for (const std::uint32_t sample : samples) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<unsigned char>(sample >> shift));
  }
  return bytes;
}

std::vector<std::uint32_t> samples_of(const std::vector<unsigned char>& bytes) {
  std::vector<std::uint32_t> samples(bytes.size() / 4);
  for (std::size_t i = 0; i < 4 * samples.size(); ++i)
    samples[i / 4] |= static_cast<std::uint32_t>(bytes[i]) << (8 * (i % 4));
  return samples;
}

}  // namespace ak::db
