// SPDX-License-Identifier: Apache-2.0
#include "db/store/line_metrics.h"

#include <fmt/format.h>

#include <charconv>

namespace ak::db {
namespace {

constexpr std::string_view kPrefix = "line/";

}  // namespace

std::string line_metric(int line, std::string_view reason) {
  return fmt::format("{}{}/{}", kPrefix, line, reason);
}

std::optional<std::pair<int, std::string>> line_of_metric(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int line = 0;
  const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), line);
  const auto digits = static_cast<std::size_t>(end - name.data());
  if (status != std::errc() || digits >= name.size() || name[digits] != '/') return std::nullopt;
  return std::pair(line, std::string(name.substr(digits + 1)));
}

}  // namespace ak::db
