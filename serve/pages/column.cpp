// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/column.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text/shown_text.h"
#include "serve/pages/quantity_text.h"

namespace ak::pages {
namespace {

struct UnitOfSuffix {
  std::string_view suffix, symbol;
};
// The suffixes of docs/schema.md.
constexpr std::array kUnits{UnitOfSuffix{"_ns", "ns"},
                            UnitOfSuffix{"_us", "µs"},
                            UnitOfSuffix{"_ms", "ms"},
                            UnitOfSuffix{"_seconds", "s"},
                            UnitOfSuffix{"_minutes", "min"},
                            UnitOfSuffix{"_hours", "h"},
                            UnitOfSuffix{"_pct", "%"},
                            UnitOfSuffix{"_usd", "US$"},
                            UnitOfSuffix{"_bytes", "B"},
                            UnitOfSuffix{"_gbps", "GB/s"},
                            UnitOfSuffix{"_gbs", "GB/s"},
                            UnitOfSuffix{"_tflops", "TFLOP/s"},
                            UnitOfSuffix{"_joule", "J"},
                            UnitOfSuffix{"_gb_per_j", "GB/J"},
                            UnitOfSuffix{"_gflop_per_j", "GFLOP/J"},
                            UnitOfSuffix{"_celsius", "°C"},
                            UnitOfSuffix{"_watt", "W"},
                            UnitOfSuffix{"_mhz", "MHz"},
                            UnitOfSuffix{"_flop_per_byte", "FLOP/B"},
                            UnitOfSuffix{"_tokens", "tokens"},
                            UnitOfSuffix{"_at", "UTC"},
                            UnitOfSuffix{"_ratio", "ratio"},
                            UnitOfSuffix{"_error", "relative"}};

constexpr std::array<std::string_view, 7> kRowNames{"search",   "variant",    "call",  "evaluation",
                                                    "champion", "challenger", "parent"};

const UnitOfSuffix* unit_of(std::string_view column) {
  const auto found =
      std::ranges::find_if(kUnits, [&](const UnitOfSuffix& unit) { return column.ends_with(unit.suffix); });
  return found == kUnits.end() ? nullptr : found;
}

// Sizes differ by powers of a thousand in one column: each value carries its own unit.
constexpr std::string_view kBytesSuffix = "_bytes";

std::string integer_text(std::int64_t value, std::string_view column) {
  if (names_a_row(column) || column == "seed") return fmt::format("{}", value);
  if (column == "driver_version") return cuda_version_text(value);
  if (column.ends_with(kBytesSuffix)) return quantity_text(static_cast<double>(value), "bytes");
  return count_text(value);
}

}  // namespace

std::string_view column_unit(std::string_view column) {
  const UnitOfSuffix* unit = unit_of(column);
  return unit ? unit->symbol : "";
}

std::string column_heading(std::string_view column) {
  const UnitOfSuffix* unit = unit_of(column);
  std::string name(column.substr(0, column.size() - (unit ? unit->suffix.size() : 0)));
  std::ranges::replace(name, '_', ' ');
  return unit ? fmt::format("{} ({})", name, unit->symbol) : name;
}

std::string table_heading(std::string_view column) {
  if (!column.ends_with(kBytesSuffix)) return column_heading(column);
  return column_heading(column.substr(0, column.size() - kBytesSuffix.size()));
}

bool names_a_row(std::string_view column) { return std::ranges::find(kRowNames, column) != kRowNames.end(); }

std::string shown(const db::Cell& cell, std::string_view column) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return integer_text(*integer, column);
  if (const auto* real = std::get_if<double>(&cell))
    return column.ends_with(kBytesSuffix) ? quantity_text(*real, "bytes") : number_text(*real);
  if (const auto* text = std::get_if<std::string>(&cell))
    return column.ends_with("_at") ? moment_text(*text) : *text;
  if (const auto* bytes = std::get_if<std::vector<unsigned char>>(&cell))
    return fmt::format("{} bytes", count_text(static_cast<std::int64_t>(bytes->size())));
  return "–";
}

std::vector<std::size_t> filled_columns(const db::Table& table) {
  std::vector<std::size_t> filled;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (std::ranges::any_of(table.rows,
                            [&](const auto& row) { return !std::holds_alternative<std::monostate>(row[i]); }))
      filled.push_back(i);
  return filled;
}

bool is_numeric(const db::Table& table, std::size_t column) {
  return std::ranges::all_of(table.rows, [&](const auto& row) {
    return std::holds_alternative<std::int64_t>(row[column]) || std::holds_alternative<double>(row[column]) ||
           std::holds_alternative<std::monostate>(row[column]);
  });
}

std::string harmless(std::string_view text, std::size_t max_bytes) {
  std::string out;
  std::size_t i = 0;
  while (i < text.size() && i < max_bytes) {
    const std::size_t length = character_length(text.substr(i));
    const std::string_view sequence = text.substr(i, std::max<std::size_t>(length, 1));
    if (length == 0 || is_control_character(sequence))
      out += sequence == "\r" ? "" : "\uFFFD";
    else
      out += sequence;
    i += sequence.size();
  }
  if (i < text.size())
    out += fmt::format(" … ({} more bytes)", count_text(static_cast<std::int64_t>(text.size() - i)));
  return out;
}

}  // namespace ak::pages
