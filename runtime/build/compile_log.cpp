// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/compile_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "core/source_names.h"
#include "core/text/suggest.h"
#include "runtime/build/ptxas_facts.h"

namespace ak::runtime {
namespace {

constexpr std::size_t kMaxDiagnostics = 50;       // more help nobody, and they fill prompts
constexpr std::size_t kMaxMessageLength = 2'000;  // template names can be endless

constexpr std::string_view kPtxas = "ptxas: ";

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    // NVRTC 13.0 puts a NUL before ptxas's errors.
    while (line.starts_with('\0')) line.remove_prefix(1);
    lines.push_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

struct Location {
  std::string_view file;
  int line = 0;
};

// "k.cu" and 12 of "k.cu(12)".
std::optional<Location> parse_location(std::string_view text) {
  const std::size_t open = text.rfind('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return std::nullopt;
  Location location{text.substr(0, open), 0};
  const auto [end, error] = std::from_chars(text.data() + open + 1, text.data() + text.size(), location.line);
  if (error != std::errc{} || *end != ')') return std::nullopt;
  return location;
}

// "error" of "error", "error #20-D", "catastrophic error".
std::string severity_of(std::string_view words) {
  if (const std::size_t number = words.find(" #"); number != std::string_view::npos)
    words = words.substr(0, number);
  if (words == "error" || words == "catastrophic error" || words == "internal error") return "error";
  if (words == "warning" || words == "note") return std::string(words);
  return {};
}

/// What NVRTC says of an error below it: which arguments a call has, and why a function does not take them.
constexpr std::array<std::string_view, 2> kExplanations{"argument types are: ", "object type is: "};

std::string_view explanation_in(std::string_view line) {
  const std::string_view text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  const bool explains =
      std::ranges::any_of(kExplanations, [&](std::string_view start) { return text.starts_with(start); });
  return explains ? text : std::string_view();
}

void explain_further(std::vector<Diagnostic>& found, std::string_view text) {
  if (found.empty() || found.back().severity != "error") return;
  found.back().message = sanitize(fmt::format("{}; {}", found.back().message, text), kMaxMessageLength);
}

/// Constants that the harness declares for tunables and params: of one that is not used there is nothing to say.
bool is_of_constants(const Diagnostic& diagnostic) {
  return diagnostic.severity == "warning" &&
         diagnostic.message.find(fmt::format("({} line ", kConstantsFile)) != std::string::npos;
}

// "FILE(LINE): error #20-D: MESSAGE".
std::optional<Diagnostic> parse_located(std::string_view line, std::string_view file_name) {
  for (std::size_t at = line.find("): "); at != std::string_view::npos; at = line.find("): ", at + 1)) {
    const auto location = parse_location(line.substr(0, at + 1));
    const std::string_view rest = line.substr(at + 3);
    const std::size_t colon = rest.find(": ");
    if (!location || colon == std::string_view::npos) continue;
    std::string severity = severity_of(rest.substr(0, colon));
    if (severity.empty()) continue;
    const std::string_view message = rest.substr(colon + 2);
    if (location->file == file_name) return Diagnostic{severity, std::string(message), location->line, 0};
    return Diagnostic{severity, fmt::format("{} ({} line {})", message, location->file, location->line), 0,
                      0};
  }
  return std::nullopt;
}

// Errors of ptxas and of NVRTC itself, which know no line of the candidate.
std::optional<Diagnostic> parse_unlocated(std::string_view line) {
  constexpr std::array<std::string_view, 4> kStarts{
      "ptxas error   : ", "ptxas fatal   : ", "nvrtc: error: ", "error: "};
  for (const auto start : kStarts)
    if (line.starts_with(start)) return Diagnostic{"error", std::string(line.substr(start.size())), 0, 0};
  return std::nullopt;
}

/// What ptxas says of code that is slow: "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are
/// serialized due to ... in the function 'k'". The rest of its report is about nothing wrong.
std::optional<Diagnostic> parse_loss(std::string_view line) {
  constexpr std::string_view kLoss = "Potential Performance Loss: ";
  const std::size_t at = line.find(kLoss), number = line.find('(');
  if (!is_ptxas_report(line) || at == std::string_view::npos) return std::nullopt;
  const std::string_view what = line.substr(at + kLoss.size());
  const std::string_view code = number < at ? line.substr(number, at - number) : std::string_view();
  return Diagnostic{"warning", fmt::format("{}{}{}", kPtxas, code, what), 0, 0};
}

// Column under which NVRTC's caret is: it prints the source line after the message, indented by two, and
// the caret below.
int column_after(const std::vector<std::string_view>& lines, std::size_t index) {
  for (std::size_t i = index + 1; i < std::min(lines.size(), index + 12); ++i) {
    const std::size_t caret = lines[i].find_first_not_of(' ');
    if (caret != std::string_view::npos && caret >= 2 && lines[i].substr(caret) == "^")
      return static_cast<int>(caret) - 1;
    if (lines[i].empty()) return 0;
  }
  return 0;
}

bool is_noise(std::string_view line) {
  constexpr std::string_view kRemark = "Remark: The warnings can be suppressed";
  return is_ptxas_report(line) || line.starts_with(kRemark);
}

}  // namespace

std::vector<Diagnostic> parse_compile_log(std::string_view log, std::string_view file_name) {
  const auto lines = split_lines(log);
  std::vector<Diagnostic> found;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto diagnostic = parse_located(lines[i], file_name);
    if (diagnostic && diagnostic->line > 0) diagnostic->column = column_after(lines, i);
    if (!diagnostic) diagnostic = parse_unlocated(lines[i]);
    if (!diagnostic) diagnostic = parse_loss(lines[i]);
    if (const auto explanation = explanation_in(lines[i]); !diagnostic && !explanation.empty())
      explain_further(found, explanation);
    if (!diagnostic || is_of_constants(*diagnostic)) continue;
    if (diagnostic->severity == "note") {
      explain_further(found, diagnostic->message);
      continue;
    }
    diagnostic->message = sanitize(diagnostic->message, kMaxMessageLength);
    found.push_back(std::move(*diagnostic));
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const Diagnostic& each) { return each.severity == "error"; });
  if (found.size() > kMaxDiagnostics) found.resize(kMaxDiagnostics);
  return found;
}

bool is_slow_code(const Diagnostic& diagnostic) {
  return diagnostic.severity == "warning" && diagnostic.message.starts_with(kPtxas);
}

std::string clean_compile_log(std::string_view log) {
  std::string result;
  for (const auto line : split_lines(log)) {
    if (is_noise(line)) continue;
    if (line.empty() && (result.empty() || result.ends_with("\n\n"))) continue;
    result.append(line) += '\n';
  }
  while (result.ends_with('\n') || result.ends_with('\0')) result.pop_back();
  return sanitize(result);
}

}  // namespace ak::runtime
