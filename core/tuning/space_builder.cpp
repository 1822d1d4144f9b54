// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/space_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/tuning/range_arithmetic.h"

namespace ak {
namespace {

constexpr std::uint16_t kFree = 0xffff;  // not bound yet, or forgotten
constexpr std::size_t kMaxOrdinals = kFree;
constexpr std::size_t kMaxEdges = 1u << 25;  // 0.5 GB
constexpr std::uint64_t kMaxPoints = std::uint64_t{1} << 62;

ValueRange range_of(const TuningValue& value, double text) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    const auto number = static_cast<double>(*integer);
    return {number, number, ValueRange::Kind::number, true};
  }
  if (const auto* real = std::get_if<double>(&value)) return {*real, *real, ValueRange::Kind::number, false};
  return {text, text, ValueRange::Kind::text, false};
}

std::size_t hash_of(const std::uint16_t* cells, std::size_t count) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < count; ++i)
    hash = (hash ^ cells[i]) * 0x9e3779b97f4a7c15ULL, hash ^= hash >> 29;
  return hash;
}

}  // namespace

std::optional<InputError> SpaceBuilder::build() {
  if (auto input_error = check_parameters()) return input_error;
  if (auto input_error = compile()) return input_error;
  prepare_ranges();
  order_parameters();
  const std::size_t parameters = space_.parameters_.size();
  row_.assign(parameters + conditions_.size(), kFree);
  std::fill(row_.begin() + static_cast<std::ptrdiff_t>(parameters), row_.end(), Cell{0});
  slots_ = whole_;
  bound_.assign(parameters, 0);
  current_ = row_;
  for (std::size_t layer = 0; layer < parameters; ++layer)
    if (auto input_error = add_layer(layer)) return input_error;
  return count();
}

std::optional<InputError> SpaceBuilder::check_parameters() {
  if (space_.parameters_.empty()) return InputError{"the space has no parameters"};
  std::set<std::string> names;
  for (const TuningParameter& parameter : space_.parameters_) {
    if (!names.insert(parameter.name).second)
      return InputError{fmt::format("two parameters are called {}", parameter.name)};
    if (parameter.values.empty())
      return InputError{fmt::format("parameter {} has no values", parameter.name)};
    if (parameter.values.size() > kMaxOrdinals)
      return InputError{fmt::format("parameter {} has {} values, at most {} are accepted", parameter.name,
                                    parameter.values.size(), kMaxOrdinals)};
  }
  return std::nullopt;
}

double SpaceBuilder::text_number(const std::string& text) {
  return text.empty() ? 0 : texts_.emplace(text, static_cast<double>(texts_.size() + 1)).first->second;
}

std::optional<InputError> SpaceBuilder::compile() {
  std::map<std::string, std::size_t> slots;
  for (std::size_t i = 0; i < space_.parameters_.size(); ++i) slots[space_.parameters_[i].name] = i;
  touching_.resize(slots.size());
  for (const std::string& text : space_.constraints_) {
    auto condition =
        Condition::compile(text, slots, [this](const std::string& word) { return text_number(word); });
    if (!condition) return InputError{fmt::format("constraint '{}': {}", text, condition.error().message)};
    if (condition->slots().empty())
      return InputError{fmt::format("constraint '{}' does not name a parameter", text)};
    for (const std::size_t slot : condition->slots()) touching_[slot].push_back(conditions_.size());
    conditions_.push_back(std::move(condition).value());
  }
  return std::nullopt;
}

void SpaceBuilder::prepare_ranges() {
  for (const TuningParameter& parameter : space_.parameters_) {
    std::vector<ValueRange>& ranges = values_.emplace_back();
    for (const TuningValue& value : parameter.values) {
      const auto* text = std::get_if<std::string>(&value);
      ranges.push_back(range_of(value, text != nullptr ? text_number(*text) : 0));
    }
    ValueRange whole = ranges.front();
    for (const ValueRange& range : ranges) whole = join(whole, range);
    whole_.push_back(whole);
  }
}

/// Next comes the parameter that leaves the fewest beginnings to tell apart: those that differ in bound
/// parameters of conditions that are still open.
void SpaceBuilder::order_parameters() {
  const std::size_t count = space_.parameters_.size();
  std::vector<char> placed(count, 0);
  const auto open_size = [&](std::size_t candidate) {
    placed[candidate] = 1;
    double log_size = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const bool open = placed[i] && std::ranges::any_of(touching_[i], [&](std::size_t c) {
                          return !std::ranges::all_of(conditions_[c].slots(),
                                                      [&](std::size_t s) { return placed[s] != 0; });
                        });
      if (open) log_size += std::log(static_cast<double>(values_[i].size()));
    }
    placed[candidate] = 0;
    return log_size;
  };
  for (std::size_t layer = 0; layer < count; ++layer) {
    std::size_t best = count;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < count; ++i) {
      if (placed[i]) continue;
      if (const double size = open_size(i); size < least) least = size, best = i;
    }
    placed[best] = 1;
    space_.order_.push_back(static_cast<std::uint32_t>(best));
  }
}

void SpaceBuilder::load(const Cell* row) {
  std::copy_n(row, row_.size(), row_.begin());
  for (std::size_t i = 0; i < slots_.size(); ++i)
    slots_[i] = row[i] == kFree ? whole_[i] : values_[i][row[i]];
}

Truth SpaceBuilder::decide(std::size_t constraint) const {
  const Truth truth = conditions_[constraint].evaluate(slots_);
  if (truth != Truth::unknown) return truth;
  // Everything bound and still unknown: no value that Python would give (infinities).
  const bool all_bound =
      std::ranges::all_of(conditions_[constraint].slots(), [&](std::size_t s) { return bound_[s] != 0; });
  return all_bound ? Truth::no : Truth::unknown;
}

/// Binds the value in the row; false where a condition rules it out.
bool SpaceBuilder::extend(std::size_t parameter, Cell value) {
  row_[parameter] = value;
  slots_[parameter] = values_[parameter][value];
  for (const std::size_t constraint : touching_[parameter]) {
    Cell& settled = row_[slots_.size() + constraint];
    if (settled) continue;
    const Truth truth = decide(constraint);
    if (truth == Truth::no) return false;
    settled = truth == Truth::yes ? 1 : 0;
  }
  forget();
  return true;
}

void SpaceBuilder::forget() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const auto settled = [&](std::size_t constraint) { return row_[slots_.size() + constraint] != 0; };
    if (row_[i] != kFree && std::ranges::all_of(touching_[i], settled)) row_[i] = kFree;
  }
}

/// Number of the row in the layer being made; a new one where there is none like it.
std::uint32_t SpaceBuilder::node_of_row(std::vector<Cell>& rows) {
  const std::size_t width = row_.size();
  const std::size_t count = rows.size() / width;
  if (count * 2 >= table_.size()) {
    table_.assign(std::max<std::size_t>(table_.size() * 4, 1024), 0);
    for (std::size_t node = 0; node < count; ++node) {
      std::size_t at = hash_of(&rows[node * width], width) & (table_.size() - 1);
      while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
      table_[at] = static_cast<std::uint32_t>(node + 1);
    }
  }
  std::size_t at = hash_of(row_.data(), width) & (table_.size() - 1);
  for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1)) {
    const std::size_t node = table_[at] - 1;
    if (std::equal(row_.begin(), row_.end(), &rows[node * width])) return static_cast<std::uint32_t>(node);
  }
  table_[at] = static_cast<std::uint32_t>(count + 1);
  rows.insert(rows.end(), row_.begin(), row_.end());
  return static_cast<std::uint32_t>(count);
}

std::optional<InputError> SpaceBuilder::add_layer(std::size_t layer) {
  const std::size_t width = row_.size();
  const std::size_t parameter = space_.order_[layer];
  bound_[parameter] = 1;
  following_.clear();
  table_.clear();
  auto& nodes = space_.nodes_.emplace_back();
  for (std::size_t node = 0; node < current_.size() / width; ++node) {
    const auto begin = static_cast<std::uint32_t>(space_.edges_.size());
    for (std::size_t value = 0; value < values_[parameter].size(); ++value) {
      load(&current_[node * width]);
      if (!extend(parameter, static_cast<Cell>(value))) continue;
      space_.edges_.push_back({0, node_of_row(following_), static_cast<Cell>(value)});
    }
    nodes.push_back({begin, static_cast<std::uint32_t>(space_.edges_.size())});
    if (space_.edges_.size() > kMaxEdges)
      return InputError{fmt::format(
          "the constraints distinguish more than {} beginnings: bind fewer parameters in one constraint, or "
          "give fewer values",
          kMaxEdges)};
  }
  std::swap(current_, following_);
  return std::nullopt;
}

/// Counts the points below every edge, from the last layer up, and drops the edges with none.
std::optional<InputError> SpaceBuilder::count() {
  std::vector<std::uint64_t> below(current_.size() / row_.size(), 1);  // one node, or none
  for (std::size_t layer = space_.nodes_.size(); layer-- > 0;) {
    std::vector<std::uint64_t> counts;
    for (TunableSpace::Node& node : space_.nodes_[layer]) {
      std::uint64_t total = 0;
      std::uint32_t kept = node.begin;
      for (std::uint32_t e = node.begin; e < node.end; ++e) {
        TunableSpace::Edge edge = space_.edges_[e];
        const std::uint64_t points = below[edge.child];
        if (points == 0) continue;
        edge.before = total;
        total += points;
        if (total > kMaxPoints) return InputError{"the space has more than 2^62 points"};
        space_.edges_[kept++] = edge;
      }
      node.end = kept;
      counts.push_back(total);
    }
    below = std::move(counts);
  }
  space_.size_ = below.front();
  return std::nullopt;
}

}  // namespace ak
