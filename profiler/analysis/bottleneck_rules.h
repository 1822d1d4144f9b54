// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "profiler/analysis/quantities.h"

namespace ak::profiler {

/// Something to try. Texts and evidence may hold {quantity}: its value is put there.
struct Remedy {
  std::string_view text;
  bool (*fits)(const Quantities&) = nullptr;     ///< nullptr: always
  double (*bound)(const Quantities&) = nullptr;  ///< nullptr: the rule's
};

/// What is named first: a cause can be removed, a symptom has one that is not seen, and a limit is what a
/// kernel without flaws ends at.
enum class RuleKind : std::uint8_t { cause, symptom, limit };

/// A bottleneck, how it shows, and what helps. The table is in order of precedence: of two that promise the
/// same, the first is named.
struct Rule {
  std::string_view name;   ///< "uncoalesced_access"
  std::string_view title;  ///< in words
  std::string_view needs;  ///< quantities, between spaces, without which it cannot be judged
  bool (*holds)(const Quantities&);
  double (*bound)(const Quantities&);  ///< times faster at most without it; 1: nothing to gain
  std::string_view evidence;
  std::array<Remedy, 3> remedies;  ///< those without text are none
  std::string_view source;
  RuleKind kind = RuleKind::cause;
  std::string_view sure_with = {};  ///< quantity without which this is a guess from the compiler's facts
};

[[nodiscard]] std::span<const Rule> bottleneck_rules();
[[nodiscard]] const Rule* find_rule(std::string_view name);

}  // namespace ak::profiler
