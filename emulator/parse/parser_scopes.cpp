// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/parser_scopes.h"

#include <fmt/format.h>

#include <charconv>

namespace ak::emulator {
namespace {

struct NumberedName {
  std::string_view stem;
  Index number = 0;
};

/// "%r12" -> "%r", 12. Nothing for a name no range declares: "%r", "%r012", "7".
std::optional<NumberedName> split_number(std::string_view name) {
  constexpr std::size_t kMaxDigits = 9;  // fits an Index; ranges are shorter
  std::size_t digits = 0;
  while (digits < name.size() && name[name.size() - 1 - digits] >= '0' &&
         name[name.size() - 1 - digits] <= '9') {
    ++digits;
  }
  if (digits == 0 || digits > kMaxDigits || digits == name.size()) return std::nullopt;
  const std::string_view text = name.substr(name.size() - digits);
  if (digits > 1 && text.front() == '0') return std::nullopt;
  NumberedName split{name.substr(0, name.size() - digits), 0};
  std::from_chars(text.data(), text.data() + text.size(), split.number);
  return split;
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

const Scopes::Range* Scopes::range_of(std::string_view name, Index scope, Index& number) const {
  const std::optional<NumberedName> split = split_number(name);
  if (!split) return nullptr;
  const auto found = ranges_.find({scope, split->stem});
  if (found == ranges_.end() || split->number >= found->second.count) return nullptr;
  number = split->number;
  return &found->second;
}

std::optional<Local> Scopes::find_in(std::string_view name, Index scope) const {
  if (scopes_[scope].has_ranges) {
    Index number = 0;
    const Range* const range = range_of(name, scope, number);
    if (range != nullptr) return Local{LocalKind::reg, range->first + number, 1};
  }
  if (scopes_[scope].has_names) {
    const auto found = names_.find({scope, name});
    if (found != names_.end()) return found->second;
  }
  return std::nullopt;
}

std::optional<Local> Scopes::find(std::string_view name, Index scope) const {
  for (; scope != kNone; scope = scopes_[scope].parent) {
    const std::optional<Local> local = find_in(name, scope);
    if (local) return local;
  }
  return std::nullopt;
}

bool Scopes::declare(std::string_view name, const Local& local) {
  if (find_in(name, current_)) return false;
  names_.emplace(Key{current_, name}, local);
  scopes_[current_].has_names = true;
  return true;
}

bool Scopes::declare_range(std::string_view stem, Index first, Index count) {
  if (scopes_[current_].has_names) {
    std::string name;
    for (Index number = 0; number < count; ++number) {
      name.assign(stem).append(std::to_string(number));
      if (names_.contains({current_, name})) return false;
    }
  }
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
