// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emulator/parse/ast.h"

namespace ak::emulator {

enum class LocalKind : std::uint8_t {
  reg,         ///< Function::registers[index]
  vector_reg,  ///< `width` registers from `index` on: .x, .y, ...
  variable,    ///< a parameter, a return parameter or a variable of the body: `index` into Scopes' names
  label,       ///< index into Function::labels
  targets,     ///< index into Function::branch_targets
};

struct Local {
  LocalKind kind = LocalKind::reg;
  Index index = 0;
  Index width = 1;
};

/// "%r12": as a range declares names.
struct NumberedName {
  std::string_view stem;
  Index number = 0;
};

/// The names of one function in their nested scopes. Views must outlive it. Scope 0 is the parameters and
/// the body itself.
class Scopes {
 public:
  [[nodiscard]] Index current() const { return current_; }
  [[nodiscard]] int depth() const { return depth_; }
  void open();
  void close();

  /// False where the scope has the name already.
  [[nodiscard]] bool declare(std::string_view name, const Local& local);
  /// `.reg .b32 %r<count>`: stem%r followed by 0 ... count-1, at first, first+1, ... A range costs one entry
  /// whatever its count.
  [[nodiscard]] bool declare_range(std::string_view stem, Index first, Index count);

  /// The innermost declaration seen from a scope.
  [[nodiscard]] std::optional<Local> find(std::string_view name) const { return find(name, current_); }
  [[nodiscard]] std::optional<Local> find(std::string_view name, Index scope) const;

  /// What makes a name just declared differ from every other of the function: nothing for the first of that
  /// name, for later ones, and where the module `has` it, an @ (no character of a PTX name) and the scope.
  [[nodiscard]] std::string suffix_for(std::string_view name, bool module_has);
  [[nodiscard]] std::string suffix_for_range(std::string_view stem, Index count);

 private:
  struct Key {
    Index scope = kNone;
    std::string_view name;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      constexpr std::size_t kGolden =
          0x9E3779B97F4A7C15u;  // 2^64 over the golden ratio spreads small numbers
      std::size_t hash = key.scope;
      for (const char c : key.name) hash = (hash ^ static_cast<unsigned char>(c)) * kGolden;
      return hash ^ hash >> 32;
    }
  };
  struct Scope {
    Index parent = kNone;
    bool has_names = false;
    bool has_ranges = false;
  };
  struct Range {
    Index first = 0;
    Index count = 0;
  };
  struct Latest {
    Key key;
    Range range;
  };

  [[nodiscard]] Range range_of(const Key& key) const;
  [[nodiscard]] std::optional<Local> find_in(std::string_view name, const std::optional<NumberedName>& split,
                                             Index scope) const;

  Index current_ = 0;
  int depth_ = 0;
  std::vector<Scope> scopes_{1};
  std::unordered_map<Key, Local, KeyHash> names_;
  std::unordered_map<Key, Range, KeyHash> ranges_;
  mutable std::array<Latest, 8> latest_;  ///< of ranges_, by the last letters of their stems
  std::unordered_map<Key, Index, KeyHash> lowest_numbers_;  ///< of names by themselves, by their stems
  std::unordered_set<std::string_view> taken_;
  std::unordered_map<std::string_view, Index> taken_ranges_;  ///< stem -> the count
};

}  // namespace ak::emulator
