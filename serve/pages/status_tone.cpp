// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/status_tone.h"

#include <algorithm>
#include <array>

#include "core/outcome.h"

namespace ak::pages {
namespace {

constexpr std::array<std::string_view, 4> kTones{"good", "bad", "warn", "info"};
constexpr std::array<std::string_view, 4> kColumns{"status", "state", "verdict", "result"};

struct ToneOfWord {
  std::string_view word, tone;
};
// States of searches and sessions (db/store/session.h), and how a kernel compares.
constexpr std::array kWords{
    ToneOfWord{"finished", "good"}, ToneOfWord{"verified", "good"},    ToneOfWord{"passed", "good"},
    ToneOfWord{"faster", "good"},   ToneOfWord{"improved", "good"},    ToneOfWord{"failed", "bad"},
    ToneOfWord{"killed", "bad"},    ToneOfWord{"slower", "bad"},       ToneOfWord{"regression", "bad"},
    ToneOfWord{"stopped", "warn"},  ToneOfWord{"suspended", "warn"},   ToneOfWord{"paused", "info"},
    ToneOfWord{"skipped", "warn"},  ToneOfWord{"interrupted", "warn"}, ToneOfWord{"running", "info"},
    ToneOfWord{"queued", "info"}};

// Neither a success nor a fault: left out on purpose.
constexpr std::array kNeutral{Status::compiled_only, Status::pruned, Status::duplicate};

}  // namespace

bool is_tone(std::string_view name) { return std::ranges::find(kTones, name) != kTones.end(); }

bool holds_status(std::string_view column) { return std::ranges::find(kColumns, column) != kColumns.end(); }

std::string_view status_tone(std::string_view status) {
  if (const auto word = std::ranges::find(kWords, status, &ToneOfWord::word); word != kWords.end())
    return word->tone;
  const auto parsed = parse_status(status);
  if (!parsed || std::ranges::find(kNeutral, *parsed) != kNeutral.end()) return "";
  return *parsed == Status::ok ? "good" : info(*parsed).candidate_fault ? "bad" : "warn";
}

}  // namespace ak::pages
