// SPDX-License-Identifier: Apache-2.0
#include "app/llm/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "app/evaluate/profiling.h"

namespace ak::app {
namespace {

constexpr std::size_t kMaxRemedies = 3, kMaxOthers = 2, kMaxLines = 6;
constexpr double kMinShare = 0.05;  // of the samples: fewer are noise at the usual number of some hundred

std::string finding_text(const profiler::Finding& finding) {
  std::string text = fmt::format("  {}: {}\n", finding.title, finding.evidence);
  for (std::size_t i = 0; i < std::min(kMaxRemedies, finding.remedies.size()); ++i)
    text += fmt::format("    to try: {} (at most {:.2f} times faster)\n", finding.remedies[i].text,
                        finding.remedies[i].at_most);
  return text;
}

std::uint64_t samples_of(const LineSamples& line) {
  return std::accumulate(line.samples.begin(), line.samples.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

std::string_view line_of(std::string_view source, int number) {
  for (; number > 1 && !source.empty(); --number)
    source.remove_prefix(std::min(source.find('\n'), source.size() - 1) + 1);
  return source.substr(0, source.find('\n'));
}

/// The lines with most samples, with the reason that most of them have.
std::string lines_text(const LaunchProfile& launch, const Candidate& candidate) {
  std::vector<std::pair<std::uint64_t, const LineSamples*>> lines;
  std::uint64_t all = 0;
  for (const LineSamples& line : launch.lines) {
    lines.emplace_back(samples_of(line), &line);
    all += lines.back().first;
  }
  std::ranges::stable_sort(lines, std::greater<>(), [](const auto& entry) { return entry.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kMaxLines, lines.size()); ++i) {
    const auto& [samples, line] = lines[i];
    const double share = static_cast<double>(samples) / static_cast<double>(std::max<std::uint64_t>(all, 1));
    if (share < kMinShare || line->line == 0) continue;
    const auto most = std::ranges::max_element(line->samples, {}, [](const auto& e) { return e.second; });
    text += fmt::format("    {:.0f} % line {} ({}): {}\n", 100 * share, line->line, most->first,
                        line_of(candidate.source, line->line));
  }
  return text.empty() ? "" : "  where its warps are (share of samples, line, most frequent state):\n" + text;
}

const Measurement* slowest(const EvaluationResult& result) {
  const Measurement* found = nullptr;
  for (const Measurement& measured : result.measurements) {
    if (measured.role != MeasurementRole::candidate || !measured.cold) continue;
    if (found == nullptr || measured.median_ns > found->median_ns) found = &measured;
  }
  return found;
}

}  // namespace

agent::Diagnosis diagnose(const ProblemInstance& problem, const Candidate& candidate,
                          const EvaluationResult& result, const DeviceFacts& device, const Arch& arch) {
  const Measurement* measured = slowest(result);
  if (measured == nullptr) return {};
  std::optional<Profile> profile =
      counted_profile(problem, candidate, result, measured->workload, device, arch);
  for (const Profile& seen : result.profiles)
    if (seen.workload == measured->workload) profile = seen;
  if (!profile) return {};
  const auto launches = judge_profile(*profile, problem, candidate, result, device, arch);
  const profiler::ProfiledLaunch* longest = profiler::longest(launches);
  if (longest == nullptr) return {};
  const profiler::Analysis& analysis = longest->analysis;
  std::string text = fmt::format("What limits it on {}, kernel {} (by {}):\n", profile->workload,
                                 analysis.kernel, analysis.basis);
  text += finding_text(analysis.bottleneck);
  for (std::size_t i = 0; i < std::min(kMaxOthers, analysis.others.size()); ++i)
    text += finding_text(analysis.others[i]);
  const auto index = static_cast<std::size_t>(longest - launches.data());
  return {analysis.bottleneck.name, text + lines_text(profile->launches[index], candidate)};
}

}  // namespace ak::app
