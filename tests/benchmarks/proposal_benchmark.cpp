// SPDX-License-Identifier: Apache-2.0
// What searching a large space costs the host: CPU time of a proposal with the answer that follows, and memory, on
// spaces of 10^5 to 10^12 points.
//   proposal_benchmark [ANSWERS, default 2000] [STRATEGY, default portfolio]
#include <fmt/format.h>
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "agent/search/strategy.h"
#include "core/error.h"
#include "core/plan/candidate.h"
#include "core/tuning/plan_space.h"

namespace ak {
namespace {

struct LargeSpace {
  std::string_view name;
  std::vector<std::pair<std::string, std::string>> tunables;
  std::vector<std::string> constraints;
};

std::vector<std::pair<std::string, std::string>> tunables(int count, const std::string& values) {
  std::vector<std::pair<std::string, std::string>> result;
  for (int i = 0; i < count; ++i) result.emplace_back(fmt::format("T{}", i), values);
  return result;
}

const std::vector<LargeSpace> kSpaces{
    // What a tiled matrix product may look like on a device with 227 KiB of shared memory.
    {"matrix product",
     {{"BM", "[32, 64, 96, 128, 192, 256]"},
      {"BN", "[32, 64, 96, 128, 192, 256]"},
      {"BK", "[16, 32, 64, 128]"},
      {"WM", "[16, 32, 64, 96, 128]"},
      {"WN", "[16, 32, 64, 96, 128]"},
      {"STAGES", "range(2, 9)"},
      {"SPLIT_K", "[1, 2, 4, 8, 16]"},
      {"GROUP", "[1, 2, 4, 8, 16]"},
      {"SWIZZLE", "[0, 1]"},
      {"VEC", "[1, 2, 4, 8]"}},
     {"BM % WM == 0 and BN % WN == 0", "2 <= BM // WM * (BN // WN) <= 16",
      "max(STAGES * (BM + BN) * BK * 2, BM * (BN + 4) * 4) <= 232448",
      "BK * BM % (VEC * 32 * (BM // WM)) == 0", "SPLIT_K == 1 or GROUP <= 8"}},
    {"nine digits",
     tunables(9, "range(10)"),
     {"T0 * T1 < 12", "T2 * T3 < 6", "(T4 + T5) % 7 == 0", "T6 <= T7 <= T8", "T0 + T8 < 9", "T2 + T6 > 2"}},
    {"twelve factors",
     tunables(12, "range(1, 11)"),
     {"T0 * T1 * T2 * T3 * T4 * T5 * T6 * T7 * T8 * T9 * T10 * T11 <= 10 ** 8"}},
};

LaunchPlan plan_of(const LargeSpace& space) {
  LaunchPlan plan;
  for (const auto& [name, text] : space.tunables) {
    Tunable& tunable = plan.tunables.emplace_back(Tunable{.name = name, .values = {}});
    const auto values = parse_value_list(text).value();
    for (const TuningValue& value : values) tunable.values.push_back(std::get<std::int64_t>(value));
    tunable.default_value = tunable.values.front();
  }
  for (const std::string& text : space.constraints)
    plan.constraints.push_back(Expression::parse(text).value());
  return plan;
}

/// A rugged valley; every eighth point fails.
std::optional<double> time_ns(const TunableValues& point) {
  double log_time = 0;
  std::int64_t mix = 17;
  for (const auto& [name, value] : point) {
    const double x = std::log2(static_cast<double>(value) + 1);
    log_time += 0.1 * (x - 2.5) * (x - 2.5);
    mix = (mix * 31 + value) % 1009;
  }
  if (mix % 8 == 0) return std::nullopt;
  return 1000 * std::exp(log_time + 1e-4 * static_cast<double>(mix));
}

double thread_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// A line of /proc/self/status, in MB.
double memory_mb(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stod(line.substr(key.size() + 1)) / 1024;
  return 0;
}

void forget_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}

struct Spread {
  double mean = 0, p99 = 0;
};
Spread spread(std::vector<double> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  std::ranges::sort(values);
  return {sum / static_cast<double>(values.size()), values[values.size() * 99 / 100]};
}

void search(const LargeSpace& large, const agent::Strategy& entry, std::size_t answers) {
  const LaunchPlan plan = plan_of(large);
  forget_peak();
  const double before_mb = memory_mb("VmRSS");
  const double start_ms = thread_ms();
  auto space = std::make_shared<TunableSpace>(plan_space(plan, {}).value());
  const double built_ms = thread_ms() - start_ms;
  fmt::print("{:<16}{:>16} points {:>8} edges, built in {:.1f} ms\n", large.name, space->size(),
             space->edges(), built_ms);
  const auto strategy = entry.make(space, 1, {});
  std::vector<double> taken_ms;
  for (std::size_t i = 0; i < answers; ++i) {
    const double asked_ms = thread_ms();
    const auto point = strategy->ask();
    if (!point) break;
    const double answered_ms = thread_ms();
    AK_ASSERT(broken_constraints(plan, {}, *point).empty(), "every proposal is a point");
    const auto time = time_ns(*point);
    const double told_ms = thread_ms();
    strategy->tell(*point, time);
    taken_ms.push_back(thread_ms() - told_ms + answered_ms - asked_ms);
  }
  const Spread all = spread(taken_ms);
  const auto late = static_cast<std::ptrdiff_t>(taken_ms.size() - taken_ms.size() / 5);
  const Spread last = spread({taken_ms.begin() + late, taken_ms.end()});
  fmt::print(
      "  {} answers: {:.2f} ms a proposal, 99th percentile {:.2f}; of the last fifth {:.2f} and {:.2f}; "
      "{:.1f} MB at most\n",
      taken_ms.size(), all.mean, all.p99, last.mean, last.p99, memory_mb("VmHWM") - before_mb);
}

}  // namespace
}  // namespace ak

int main(int count, char** arguments) {
  const std::size_t answers = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 2000;
  const ak::agent::Strategy* strategy = ak::agent::find_strategy(count > 2 ? arguments[2] : "portfolio");
  if (strategy == nullptr || answers == 0) {
    fmt::print(stderr, "usage: proposal_benchmark [ANSWERS] [STRATEGY]\n");
    return 2;
  }
  for (const ak::LargeSpace& space : ak::kSpaces) ak::search(space, *strategy, answers);
  return 0;
}
