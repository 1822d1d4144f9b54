// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/space_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "core/tuning/range_arithmetic.h"

namespace ak {
namespace {

constexpr std::uint16_t kFree = 0xffff;  // not bound yet, or forgotten
constexpr std::size_t kMaxOrdinals = kFree;
constexpr std::uint64_t kMaxPoints = std::uint64_t{1} << 62;
// As many choices of two give kMaxPoints. To order parameters takes the cube of their number.
constexpr std::size_t kMaxParameters = 62;

/// Two lanes of 64 bits, each mixed as splitmix64 does (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014).
std::array<std::uint64_t, 2> hash_of(const std::vector<double>& words) {
  std::array<std::uint64_t, 2> lanes{0x9e3779b97f4a7c15ULL, 0xd1b54a32d192ed03ULL};
  for (const double word : words) {
    for (std::uint64_t& lane : lanes) {
      lane = (lane + std::bit_cast<std::uint64_t>(word)) * 0xbf58476d1ce4e5b9ULL;
      lane = (lane ^ (lane >> 30)) * 0x94d049bb133111ebULL;
      lane ^= lane >> 31;
    }
  }
  return lanes;
}

}  // namespace

std::optional<InputError> SpaceBuilder::build() {
  if (auto input_error = check_parameters()) return input_error;
  prepare_ranges();
  if (auto input_error = compile()) return input_error;
  order_parameters();
  row_.assign(parameters() + checks_.size(), kFree);
  std::fill(row_.begin() + static_cast<std::ptrdiff_t>(parameters()), row_.end(), Cell{0});
  bound_.assign(parameters(), 0);
  if (!begin()) return std::nullopt;
  current_ = row_;
  for (std::size_t layer = 0; layer < parameters(); ++layer)
    if (auto input_error = add_layer(layer)) return input_error;
  return count();
}

std::optional<InputError> SpaceBuilder::check_parameters() {
  const std::size_t given = space_.parameters().size();
  if (given > kMaxParameters)
    return InputError{
        fmt::format("the space has {} parameters, at most {} are accepted", given, kMaxParameters)};
  std::set<std::string> names;
  for (const TuningParameter& parameter : space_.parameters()) {
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

ValueRange SpaceBuilder::range_of(const TuningValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    const auto number = static_cast<double>(*integer);
    const ValueRange range{number, number, ValueRange::Kind::number, true};
    return space_.rules_.arithmetic == Arithmetic::integer && !is_exact(range) ? kAnything : range;
  }
  if (const auto* real = std::get_if<double>(&value)) return {*real, *real, ValueRange::Kind::number, false};
  const double number = text_number(std::get<std::string>(value));
  return {number, number, ValueRange::Kind::text, false};
}

void SpaceBuilder::prepare_ranges() {
  for (const TuningParameter& parameter : space_.parameters()) {
    std::vector<ValueRange>& ranges = values_.emplace_back();
    for (const TuningValue& value : parameter.values) ranges.push_back(range_of(value));
    ValueRange whole = ranges.front();
    for (const ValueRange& range : ranges) whole = join(whole, range);
    whole_.push_back(whole);
  }
  slots_ = whole_;
  for (const auto& [name, value] : space_.rules_.known)
    slots_.push_back(range_of(std::visit([](const auto& known) { return TuningValue(known); }, value)));
  slots_.resize(slots_.size() + space_.rules_.derived.size(), kAnything);
  keys_.assign(slots_.size(), -1);
}

std::optional<InputError> SpaceBuilder::compile() {
  const SpaceRules& rules = space_.rules_;
  std::map<std::string, std::size_t> slots;
  std::size_t next = parameters();
  for (const auto& [name, value] : rules.known) slots[name] = next++;
  for (std::size_t i = 0; i < parameters(); ++i) slots[rules.parameters[i].name] = i;
  const auto compiled = [&](const std::string& text) {
    return Condition::compile(
        text, slots, [this](const std::string& word) { return text_number(word); }, rules.arithmetic);
  };
  for (const auto& [name, text] : rules.derived) {
    auto condition = compiled(text);
    if (!condition) return InputError{fmt::format("'{}': {}", text, condition.error().message)};
    derived_.push_back(check_of(std::move(condition).value(), true));
    slots[name] = next++;
  }
  for (const std::string& text : rules.constraints) {
    auto condition = compiled(text);
    if (!condition) return InputError{fmt::format("constraint '{}': {}", text, condition.error().message)};
    checks_.push_back(check_of(std::move(condition).value(), false));
    if (checks_.back().depends.empty() && rules.arithmetic == Arithmetic::real)
      return InputError{fmt::format("constraint '{}' does not name a parameter", text)};
  }
  checks_.insert(checks_.end(), derived_.begin(), derived_.end());
  touching_.resize(parameters());
  deriving_.resize(parameters());
  for (std::size_t c = 0; c < checks_.size(); ++c)
    for (const std::size_t parameter : checks_[c].depends) touching_[parameter].push_back(c);
  for (std::size_t d = 0; d < derived_.size(); ++d)
    for (const std::size_t parameter : derived_[d].depends) deriving_[parameter].push_back(d);
  return std::nullopt;
}

SpaceBuilder::Check SpaceBuilder::check_of(Condition condition, bool any_value) const {
  const std::size_t first_derived = parameters() + space_.rules_.known.size();
  std::set<std::size_t> depends, derived;
  for (const std::size_t slot : condition.slots()) {
    if (slot < parameters()) depends.insert(slot);
    if (slot < first_derived) continue;
    const Check& name = derived_[slot - first_derived];
    derived.insert(slot - first_derived);
    derived.insert(name.derived.begin(), name.derived.end());
    depends.insert(name.depends.begin(), name.depends.end());
  }
  return {
      std::move(condition), any_value, {depends.begin(), depends.end()}, {derived.begin(), derived.end()}};
}

/// Next comes the parameter that leaves the fewest beginnings to tell apart: those that differ in bound
/// parameters of conditions that are still open.
void SpaceBuilder::order_parameters() {
  const std::size_t count = parameters();
  std::vector<char> placed(count, 0);
  const auto open_size = [&](std::size_t candidate) {
    placed[candidate] = 1;
    double log_size = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const bool open =
          placed[i] && std::ranges::any_of(touching_[i], [&](std::size_t c) {
            return !std::ranges::all_of(checks_[c].depends, [&](std::size_t s) { return placed[s] != 0; });
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

void SpaceBuilder::derive(std::size_t derived) {
  slots_[slots_.size() - derived_.size() + derived] = derived_[derived].condition.value(slots_);
}

/// What holds or not whatever the parameters are; false where that rules everything out.
bool SpaceBuilder::begin() {
  for (std::size_t d = 0; d < derived_.size(); ++d) derive(d);
  for (std::size_t c = 0; c < checks_.size(); ++c)
    if (!settle(c)) return false;
  return true;
}

void SpaceBuilder::load(const Cell* row) {
  std::copy_n(row, row_.size(), row_.begin());
  for (std::size_t i = 0; i < parameters(); ++i) {
    slots_[i] = row[i] == kFree ? whole_[i] : values_[i][row[i]];
    keys_[i] = row[i] == kFree ? -1 : row[i];
  }
  for (std::size_t d = 0; d < derived_.size(); ++d) derive(d);
}

bool SpaceBuilder::all_bound(const Check& check) const {
  return std::ranges::all_of(check.depends, [&](std::size_t s) { return bound_[s] != 0; });
}

Truth SpaceBuilder::decide(const Check& check) const {
  const ValueRange value = check.condition.value(slots_);
  Truth truth = truth_of(value);
  if (check.any_value && value.kind != ValueRange::Kind::fault)
    truth = value.kind == ValueRange::Kind::anything ? Truth::unknown : Truth::yes;
  if (truth != Truth::unknown || !all_bound(check)) return truth;
  // Everything bound and still unknown: no value that Python would give (infinities), or integers
  // that doubles do not hold.
  return space_.rules_.arithmetic == Arithmetic::integer && holds_exactly(check) ? Truth::yes : Truth::no;
}

bool SpaceBuilder::holds_exactly(const Check& check) const {
  Environment environment = space_.rules_.known;
  for (const std::size_t i : check.depends) {
    const TuningParameter& parameter = space_.parameters()[i];
    environment[parameter.name] = std::get<std::int64_t>(parameter.values[row_[i]]);
  }
  for (const std::size_t d : check.derived) {
    const auto& [name, text] = space_.rules_.derived[d];
    const auto value = Expression::parse(text).value().evaluate(environment);
    if (value) environment[name] = *value;
  }
  const Expression expression = Expression::parse(check.condition.text()).value();
  if (check.any_value) return expression.evaluate(environment).ok();
  const auto holds = expression.evaluate_bool(environment);
  return holds.ok() && *holds;
}

/// False where the check rules the beginning out.
bool SpaceBuilder::settle(std::size_t check) {
  const bool ignored = check < ignored_.size() && ignored_[check];
  const Truth truth = ignored ? Truth::yes : decide(checks_[check]);
  row_[parameters() + check] = truth == Truth::yes ? 1 : 0;
  return truth != Truth::no;
}

/// Binds the value in the row; false where a constraint rules it out.
bool SpaceBuilder::extend(std::size_t parameter, Cell value) {
  row_[parameter] = value;
  slots_[parameter] = values_[parameter][value];
  keys_[parameter] = value;
  for (const std::size_t derived : deriving_[parameter]) derive(derived);
  for (const std::size_t check : touching_[parameter])
    if (open(check) && !settle(check)) return false;
  forget();
  return true;
}

void SpaceBuilder::forget() {
  for (std::size_t i = 0; i < parameters(); ++i) {
    const bool needed = std::ranges::any_of(touching_[i], [&](std::size_t check) { return open(check); });
    if (!needed) row_[i] = kFree;
  }
}

/// All that open checks still depend on, of what is bound.
void SpaceBuilder::find_residue() {
  residue_.clear();
  std::vector<char> needed(derived_.size(), 0);
  for (std::size_t c = 0; c < checks_.size(); ++c) {
    const Check& check = checks_[c];
    const bool begun =
        std::ranges::any_of(check.depends, [&](std::size_t parameter) { return bound_[parameter] != 0; });
    if (!begun) continue;
    residue_.push_back(open(c) ? 1 : 0);
    if (!open(c)) continue;
    check.condition.append_residue(slots_, keys_, residue_);
    for (const std::size_t derived : check.derived) needed[derived] = 1;
  }
  for (std::size_t d = 0; d < derived_.size(); ++d)
    if (needed[d]) derived_[d].condition.append_residue(slots_, keys_, residue_);
}

/// Number of the node of the row in the layer being made; a new one where there is none like it.
std::uint32_t SpaceBuilder::node_of_row() {
  find_residue();
  const Key key = hash_of(residue_);
  std::vector<std::uint32_t>& table = next_.table;
  const std::size_t count = next_.keys.size();
  const auto place_of = [&](const Key& wanted) {
    std::size_t at = wanted[0] & (table.size() - 1);
    while (table[at] != 0 && next_.keys[table[at] - 1] != wanted) at = (at + 1) & (table.size() - 1);
    return at;
  };
  if (count * 2 >= table.size()) {
    table.assign(std::max<std::size_t>(table.size() * 4, 64), 0);
    for (std::size_t node = 0; node < count; ++node)
      table[place_of(next_.keys[node])] = static_cast<std::uint32_t>(node + 1);
  }
  const std::size_t at = place_of(key);
  if (table[at] != 0) return table[at] - 1;
  table[at] = static_cast<std::uint32_t>(count + 1);
  next_.rows.insert(next_.rows.end(), row_.begin(), row_.end());
  next_.keys.push_back(key);
  return static_cast<std::uint32_t>(count);
}

bool SpaceBuilder::too_large() const {
  const std::size_t cells = current_.size() + next_.rows.size();
  return space_.edges_.size() * sizeof(TunableSpace::Edge) + cells * sizeof(Cell) +
             next_.keys.size() * sizeof(Key) >
         max_bytes_;
}

std::optional<InputError> SpaceBuilder::add_layer(std::size_t layer) {
  const std::size_t width = row_.size();
  const std::size_t parameter = space_.order_[layer];
  bound_[parameter] = 1;
  next_ = {};
  auto& nodes = space_.nodes_.emplace_back();
  for (std::size_t node = 0; node < current_.size() / width; ++node) {
    const auto begin = static_cast<std::uint32_t>(space_.edges_.size());
    load(&current_[node * width]);
    const std::vector<Cell> row = row_;
    const std::vector<ValueRange> slots = slots_;
    for (std::size_t value = 0; value < values_[parameter].size(); ++value) {
      row_ = row;
      slots_ = slots;
      if (extend(parameter, static_cast<Cell>(value)))
        space_.edges_.push_back({0, node_of_row(), static_cast<Cell>(value)});
    }
    nodes.push_back({begin, static_cast<std::uint32_t>(space_.edges_.size())});
    if (too_large())
      return InputError{fmt::format(
          "the constraints distinguish too many beginnings of points to count them within {} MB: bind fewer "
          "parameters in one constraint, or give fewer values",
          max_bytes_ >> 20)};
  }
  std::swap(current_, next_.rows);
  return std::nullopt;
}

/// Counts the points below every edge, from the last layer up, and drops the edges with none.
std::optional<InputError> SpaceBuilder::count() {
  const bool any = parameters() == 0 || !current_.empty();
  std::vector<std::uint64_t> below(any ? 1 : 0, 1);  // one node behind the last layer, or none
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
  space_.size_ = below.empty() ? 0 : below.front();
  space_.edges_.shrink_to_fit();
  return std::nullopt;
}

}  // namespace ak
