// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/parser_scopes.h"

#include <fmt/format.h>

#include <algorithm>

namespace ak::emulator {
namespace {

constexpr std::size_t kMaxDigits = 9;  // fits an Index; ranges are shorter

/// "%r12" -> "%r", 12. Nothing for a name no range declares: "%r", "%r012", "7".
std::optional<NumberedName> split_number(std::string_view name) {
  std::size_t stem = name.size();
  Index number = 0, place = 1;
  for (; stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9'; --stem) {
    number += place * static_cast<Index>(name[stem - 1] - '0');
    place *= 10;
  }
  const std::size_t digits = name.size() - stem;
  if (digits == 0 || digits > kMaxDigits || stem == 0) return std::nullopt;
  if (digits > 1 && name[stem] == '0') return std::nullopt;
  return NumberedName{{name.data(), stem}, number};
}

}  // namespace

void Scopes::open() {
  scopes_.push_back({current_, false, false});
  current_ = static_cast<Index>(scopes_.size() - 1);
  ++depth_;
}

void Scopes::close() {
  current_ = scopes_[current_].parent;
  --depth_;
}

/// An empty one where there is none. Most registers are of the few ranges that were looked up last.
Scopes::Range Scopes::range_of(const Key& key) const {
  auto& [latest_key, latest] = latest_[static_cast<unsigned char>(key.name.back()) % latest_.size()];
  if (latest_key == key) return latest;
  const auto found = ranges_.find(key);
  if (found == ranges_.end()) return {};
  latest_key = key;
  return latest = found->second;
}

std::optional<Local> Scopes::find_in(std::string_view name, const std::optional<NumberedName>& split,
                                     Index scope) const {
  if (split && scopes_[scope].has_ranges) {
    const Range range = range_of({scope, split->stem});
    if (split->number < range.count) return Local{LocalKind::reg, range.first + split->number, 1};
  }
  if (scopes_[scope].has_names) {
    const auto found = names_.find({scope, name});
    if (found != names_.end()) return found->second;
  }
  return std::nullopt;
}

std::optional<Local> Scopes::find(std::string_view name, Index scope) const {
  const std::optional<NumberedName> split = split_number(name);
  for (; scope != kNone; scope = scopes_[scope].parent) {
    const std::optional<Local> local = find_in(name, split, scope);
    if (local) return local;
  }
  return std::nullopt;
}

bool Scopes::declare(std::string_view name, const Local& local) {
  const std::optional<NumberedName> split = split_number(name);
  if (find_in(name, split, current_)) return false;
  names_.emplace(Key{current_, name}, local);
  if (split) {
    Index& lowest = lowest_numbers_.try_emplace({current_, split->stem}, split->number).first->second;
    lowest = std::min(lowest, split->number);
  }
  scopes_[current_].has_names = true;
  return true;
}

bool Scopes::declare_range(std::string_view stem, Index first, Index count) {
  const auto lowest = lowest_numbers_.find({current_, stem});
  if (lowest != lowest_numbers_.end() && lowest->second < count) return false;
  scopes_[current_].has_ranges = true;
  return ranges_.emplace(Key{current_, stem}, Range{first, count}).second;
}

std::string Scopes::suffix_for(std::string_view name, bool module_has) {
  const std::optional<NumberedName> split = split_number(name);
  const auto range = split ? taken_ranges_.find(split->stem) : taken_ranges_.end();
  const bool in_range = range != taken_ranges_.end() && split->number < range->second;
  const bool first = taken_.insert(name).second && !in_range && !module_has;
  return first ? std::string() : fmt::format("@{}", current_);
}

std::string Scopes::suffix_for_range(std::string_view stem, Index count) {
  bool first = taken_ranges_.emplace(stem, count).second;
  std::string name;
  for (Index number = 0; current_ != 0 && first && number < count; ++number) {
    name.assign(stem).append(std::to_string(number));
    first = !taken_.contains(name);
  }
  return first ? std::string() : fmt::format("@{}", current_);
}

}  // namespace ak::emulator
