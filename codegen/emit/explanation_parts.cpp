// SPDX-License-Identifier: Apache-2.0
#include "codegen/emit/explanation_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/emit/markdown.h"

namespace ak::codegen {
namespace {

constexpr std::size_t kMaxLines = 4;

std::string lines_text(const std::vector<int>& lines) {
  if (lines.empty()) return "tunables";
  const std::vector<int> shown(lines.begin(),
                               lines.begin() + static_cast<long>(std::min(kMaxLines, lines.size())));
  return fmt::format("{}{}", fmt::join(shown, ", "), lines.size() > kMaxLines ? ", ..." : "");
}

/// The one percentage: the same as in the table of times.
std::string near_or_far(const LimitNote& limit, bool emulated) {
  if (emulated)
    return limit.time_ns ? fmt::format(" (an estimated cost of {})", time_text(*limit.time_ns)) : "";
  if (!limit.time_ns || limit.floor_ns.value_or(0) <= 0) return "";
  return fmt::format(": floor / median is {}", part_of_floor(*limit.time_ns, *limit.floor_ns));
}

std::string_view basis_text(const std::string& basis) {
  if (basis == "counts")
    return ", by exact counts of the CPU device: the unit with the most work, since no GPU ran it";
  if (basis == "facts") return ", by what the compiler reported";
  return ", by hardware counters";
}

std::string limit_text(const LimitNote& limit, bool emulated) {
  std::string text = fmt::format("**{}**{}.\n", markdown_cell(limit.workload), near_or_far(limit, emulated));
  if (limit.bottleneck.empty())
    return text + "\nWhat limits it was not measured; `alphakernel profile` does that.\n\n";
  text += fmt::format("\n- What limits it: {}{}. {}.\n", markdown_cell(limit.bottleneck),
                      basis_text(limit.basis), markdown_cell(limit.evidence));
  for (const std::string& remedy : limit.remedies)
    text += fmt::format("- To try: {}.\n", markdown_cell(remedy));
  text += limit.at_most > 1.005 ? fmt::format("- Without it at most {:.2f} times faster", limit.at_most)
                                : std::string("- Nothing is to be gained from this alone");
  return text + (limit.next.empty() ? ".\n\n" : fmt::format("; then {}.\n\n", markdown_cell(limit.next)));
}

std::string log_table(const std::vector<LogNote>& notes) {
  std::string text = "| step | proposed by | result | gain |\n|---|---|---|---|\n";
  for (const LogNote& note : notes)
    text +=
        fmt::format("| {} | {} | {} | {} |\n", markdown_cell(note.what), markdown_cell(note.who),
                    markdown_cell(note.outcome_text), note.gain ? fmt::format("{:.2f}x", *note.gain) : "-");
  return text + "\n";
}

}  // namespace

std::string optimisations_section(const ExplanationParts& parts) {
  std::string rows;
  for (const OptimisationNote& note : parts.optimisations) {
    std::string evidence;
    for (const std::string& one : note.evidence)
      evidence += (evidence.empty() ? "" : "; ") + markdown_cell(one);
    if (!evidence.empty())
      rows +=
          fmt::format("| {} | {} | {} | {} |\n", note.name, note.purpose, lines_text(note.lines), evidence);
  }
  if (rows.empty()) return "";
  return "## Optimisations and their evidence\n\nRecognised in its source and launch plan; those of which "
         "nothing was measured are left out.\n\n| optimisation | what for | lines | evidence "
         "|\n|---|---|---|---|\n" +
         rows + "\n";
}

std::string limits_section(const ExplanationParts& parts, bool emulated) {
  if (parts.limits.empty()) return "";
  std::string text = "## Why it is near its limit, or far from it\n\n";
  for (const LimitNote& limit : parts.limits) text += limit_text(limit, emulated);
  return text;
}

std::string log_section(const ExplanationParts& parts) {
  if (parts.lineage.size() < 2 && parts.leads.empty() && parts.ported.empty()) return "";
  std::string text = "## Iteration log\n\n";
  if (!parts.ported.empty()) text += fmt::format("Ported {}.\n\n", markdown_cell(parts.ported));
  if (parts.lineage.size() > 1)
    text += "What it was made from, the oldest first:\n\n" + log_table(parts.lineage);
  if (!parts.leads.empty()) text += "What took the lead in its search:\n\n" + log_table(parts.leads);
  return text;
}

std::string part_of_floor(double time_ns, double floor_ns) {
  return fmt::format("{:.0f} %", 100 * floor_ns / time_ns);
}

std::string time_text(double time_ns) {
  if (time_ns < 1e3) return fmt::format("{:.0f} ns", time_ns);
  if (time_ns < 1e6) return fmt::format("{:.2f} us", time_ns / 1e3);
  return fmt::format("{:.3f} ms", time_ns / 1e6);
}

}  // namespace ak::codegen
