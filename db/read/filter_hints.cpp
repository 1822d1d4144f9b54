// SPDX-License-Identifier: Apache-2.0
#include "db/read/filter_hints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/text/suggest.h"

namespace ak::db {
namespace {

constexpr std::chrono::seconds kHintTime{5};  // a hint is not worth a longer wait; chosen
constexpr std::size_t kShown = 8;             // of the values that there are; chosen

/// What a parameter of this name selects by, in every shipped query.
struct Filter {
  std::string_view parameter, sql;
};
constexpr std::array kFilters{
    Filter{"definition", "SELECT DISTINCT name FROM definitions ORDER BY 1"},
    Filter{"algorithm", "SELECT DISTINCT problem FROM definitions ORDER BY 1"},
    Filter{"arch", "SELECT DISTINCT arch FROM searches ORDER BY 1"},
    Filter{"kind", "SELECT DISTINCT kind FROM insights ORDER BY 1"},
    Filter{"search", "SELECT CAST(id AS TEXT) FROM searches ORDER BY id DESC"},
};

std::vector<std::string> known_values(const std::filesystem::path& file, std::string_view sql) {
  std::vector<std::string> known;
  for (const auto& row : query(file, sql, 0, kHintTime).rows)
    if (const auto* text = std::get_if<std::string>(&row.front())) known.push_back(*text);
  return known;
}

std::string filter_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const auto* number = std::get_if<std::int64_t>(&cell);
  return number == nullptr ? "" : std::to_string(*number);
}

std::string hint(const std::string& name, const std::string& value, const std::vector<std::string>& known) {
  if (known.empty()) return fmt::format("{}={}: the database has no {} yet", name, sanitize(value, 60), name);
  const std::vector<std::string> shown(
      known.begin(), known.begin() + static_cast<std::ptrdiff_t>(std::min(known.size(), kShown)));
  return fmt::format("{}={}: the database has no such {}{}; it has {}{}", name, sanitize(value, 60), name,
                     did_you_mean(value, known), fmt::join(shown, ", "),
                     known.size() > kShown ? ", ..." : "");
}

}  // namespace

std::vector<std::string> filter_hints(const std::filesystem::path& file, const NamedQuery& asked,
                                      const QueryValues& values) {
  std::vector<std::string> hints;
  for (const QueryParameter& parameter : asked.parameters) {
    const auto filter = std::ranges::find(kFilters, parameter.name, &Filter::parameter);
    const auto given = values.find(parameter.name);
    if (filter == kFilters.end() || given == values.end()) continue;
    const std::string value = filter_text(given->second);
    if (value.empty()) continue;
    const std::vector<std::string> known = known_values(file, filter->sql);
    if (std::ranges::find(known, value) == known.end()) hints.push_back(hint(parameter.name, value, known));
  }
  return hints;
}

}  // namespace ak::db
