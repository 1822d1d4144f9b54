// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/count_extrapolation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace ak::profiler {
namespace {

constexpr std::size_t kParts = 3;
using Parts = std::array<double, kParts>;

double all_blocks(const CallFacts& facts) {
  double blocks = 0;
  for (const LaunchFacts& launch : facts.launches) blocks += launch.blocks;
  return blocks;
}

Parts parts_of(const CallFacts& facts) {
  return {all_blocks(facts), facts.work.bytes_read + facts.work.bytes_written, facts.work.flops};
}

/// One equation per shape: shares . parts = count, divided by the count so that errors are relative.
struct Equation {
  Parts parts;
  double count;
};

/// Least squares for the parts in `mask`, by elimination; nothing when they do not determine it.
std::optional<Parts> solve(std::span<const Equation> equations, unsigned mask) {
  std::array<std::array<double, kParts + 1>, kParts> m{};
  Parts scale{};
  for (const Equation& e : equations) {
    for (std::size_t i = 0; i < kParts; ++i) scale[i] = std::max(scale[i], e.parts[i] / e.count);
  }
  for (std::size_t i = 0; i < kParts; ++i) {
    if ((mask >> i & 1) == 0 || scale[i] <= 0) m[i][i] = 1;
    if ((mask >> i & 1) == 0) continue;
    if (scale[i] <= 0) return std::nullopt;
    for (const Equation& e : equations) {
      const double x = e.parts[i] / e.count / scale[i];
      for (std::size_t j = 0; j < kParts; ++j)
        m[i][j] += (mask >> j & 1) == 0 ? 0 : x * e.parts[j] / e.count / scale[j];
      m[i][kParts] += x;
    }
  }
  for (std::size_t i = 0; i < kParts; ++i) {
    if (std::abs(m[i][i]) < 1e-9) return std::nullopt;
    for (std::size_t row = 0; row < kParts; ++row) {
      const double factor = row == i ? 0 : m[row][i] / m[i][i];
      for (std::size_t j = i; j <= kParts; ++j) m[row][j] -= factor * m[i][j];
    }
  }
  Parts shares{};
  for (std::size_t i = 0; i < kParts; ++i)
    shares[i] = (mask >> i & 1) != 0 ? m[i][kParts] / m[i][i] / scale[i] : 0;
  return shares;
}

double sum(const Parts& shares, const Parts& parts) {
  double total = 0;
  for (std::size_t i = 0; i < kParts; ++i) total += shares[i] * parts[i];
  return total;
}

// A part more has to explain more than rounding.
constexpr double kBetter = 0.98, kExact = 1e-6;

/// Shares and the sum of the squares of their relative errors.
struct Explanation {
  Parts shares{};
  double error = 1e300;
};

/// What explains the equations with no negative share, the fewest parts first.
std::vector<Explanation> explanations(std::span<const Equation> equations) {
  std::vector<Explanation> found;
  for (const unsigned mask : {1u, 2u, 4u, 3u, 5u, 6u, 7u}) {
    const auto shares = solve(equations, mask);
    if (!shares || std::ranges::min(*shares) < 0) continue;
    double error = kExact;
    for (const Equation& e : equations) error += std::pow(sum(*shares, e.parts) / e.count - 1, 2);
    found.push_back({.shares = *shares, .error = error});
  }
  return found;
}

/// The shares that explain the equations best, the fewest parts first.
Parts best_shares(std::span<const Equation> equations) {
  Explanation best;
  for (const Explanation& one : explanations(equations)) {
    if (one.error < kBetter * best.error) best = one;
  }
  return best.shares;
}

// Relative; counts that are known this well say the same of a shape.
constexpr double kAlike = 0.02;

/// What those explanations disagree by about `target` that are about as good as the best.
double ambiguity_of(std::span<const Equation> equations, const Parts& target) {
  const auto all = explanations(equations);
  double best = 1e300, least = 1e300, most = 0;
  for (const Explanation& one : all) best = std::min(best, one.error);
  const double enough = best + kAlike * kAlike * static_cast<double>(equations.size());
  for (const Explanation& one : all) {
    if (one.error > enough) continue;
    least = std::min(least, sum(one.shares, target));
    most = std::max(most, sum(one.shares, target));
  }
  return most > 0 ? most / least - 1 : 0;
}

std::vector<Equation> equations_of(std::span<const CountedCall* const> counted, const std::string& name) {
  std::vector<Equation> equations;
  for (const CountedCall* call : counted) {
    const auto found = call->counts.find(name);
    if (found != call->counts.end())
      equations.push_back({parts_of(call->facts), static_cast<double>(found->second)});
  }
  return equations;
}

double extrapolate(std::span<const CountedCall* const> counted, const std::string& name,
                   const CallFacts& target) {
  return sum(best_shares(equations_of(counted, name)), parts_of(target));
}

// Those that the terms of the analytic time rest on.
constexpr std::array<const char*, 3> kLeadingCounts{"inst/warp", "global/sectors", "shared/wavefronts"};

double size_of(const CountedCall* call) {
  const Parts parts = parts_of(call->facts);
  return parts[1] + parts[2];
}

std::optional<double> check(std::vector<const CountedCall*> counted) {
  if (counted.size() < 3) return std::nullopt;
  const auto largest = std::ranges::max_element(counted, {}, size_of);
  const CountedCall* left_out = *largest;
  counted.erase(largest);
  double worst = 0;
  for (const char* name : kLeadingCounts) {
    const auto exact = left_out->counts.find(name);
    if (exact == left_out->counts.end()) continue;
    const double ratio = extrapolate(counted, name, left_out->facts) / static_cast<double>(exact->second);
    worst = std::max(worst, std::abs(ratio - 1));
  }
  return worst;
}

// What the CPU device does in some hundred milliseconds, with the references (chosen by trying).
constexpr double kBytesAtATime = 1 << 18, kFlopsAtATime = 2e6, kMatrixFlopsAtATime = 1.7e7;

std::optional<std::int64_t> halved(std::int64_t size) {
  if (size < 2) return std::nullopt;
  const std::int64_t step = size >= 1024 ? 256 : size >= 256 ? 64 : 2;
  const std::int64_t half = size / 2 / step * step + size % step;
  return half < size && half > 0 ? std::optional(half) : std::nullopt;
}

/// Halves the axes of one shape.
class Reduction {
 public:
  Reduction(const ProblemInstance& problem, const Candidate& candidate, const DeviceFacts& device,
            const Arch& arch)
      : problem_(problem), candidate_(candidate), device_(device), arch_(arch) {}

  std::vector<AxisValues> shapes(const AxisValues& axes) {
    AxisValues small = axes;
    const auto wanted = facts(axes);
    if (!wanted) return {};
    std::map<std::string, std::vector<std::int64_t>> before;  // of every reduced axis, its larger sizes
    for (auto now = wanted; cost(*now) > 1; now = facts(small)) {
      const std::string axis = next_axis(small, *now, wanted->kernels);
      if (axis.empty()) break;
      before[axis].push_back(small[axis]);
      small[axis] = *halved(small[axis]);
    }
    std::set<AxisValues> all{small};
    AxisValues larger = small;
    for (const auto& [axis, sizes] : before) {
      AxisValues one = small;
      one[axis] = larger[axis] = sizes.back();
      all.insert(one);
      // with one axis the shape for all of them is the same one: a third for the check
      if (before.size() == 1 && sizes.size() > 1) larger[axis] = sizes[sizes.size() - 2];
    }
    all.insert(larger);
    return {all.begin(), all.end()};
  }

 private:
  std::optional<CallFacts> facts(const AxisValues& axes) const {
    const Workload workload{.name = {}, .uid = {}, .axes = axes, .roles = {}};
    auto found = call_facts(problem_, min_work(problem_, workload), candidate_, axes, device_, arch_, {});
    return found ? std::optional(std::move(found).value()) : std::nullopt;
  }

  static double cost(const CallFacts& facts) {
    const double flops = facts.matrix_unit == MatrixUnit::none ? kFlopsAtATime : kMatrixFlopsAtATime;
    return std::max((facts.work.bytes_read + facts.work.bytes_written) / kBytesAtATime,
                    facts.work.flops / flops);
  }

  bool allowed(const AxisValues& axes) const {
    const Environment environment = problem_.environment(axes);
    return std::ranges::all_of(problem_.definition.constraints, [&](const std::string& text) {
      const auto constraint = Expression::parse(text);
      if (!constraint) return true;
      const auto holds = constraint->evaluate_bool(environment);
      return !holds || *holds;
    });
  }

  /// The axis to halve: of those that make fewer blocks the largest, else the largest of all.
  std::string next_axis(const AxisValues& axes, const CallFacts& now, const std::string& kernels) const {
    std::string best;
    std::pair<bool, std::int64_t> most{false, 0};
    for (const auto& [axis, size] : axes) {
      const auto half = halved(size);
      if (!half) continue;
      AxisValues smaller = axes;
      smaller[axis] = *half;
      const auto then = facts(smaller);
      if (!then || then->kernels != kernels || !allowed(smaller)) continue;
      const bool fewer_blocks = all_blocks(*then) < 0.7 * all_blocks(now);
      if (std::pair(fewer_blocks, size) > most) {
        most = {fewer_blocks, size};
        best = axis;
      }
    }
    return best;
  }

  const ProblemInstance& problem_;
  const Candidate& candidate_;
  const DeviceFacts& device_;
  const Arch arch_;
};

}  // namespace

std::optional<ExtrapolatedCounts> extrapolate_counts(std::span<const CountedCall> counted,
                                                     const CallFacts& target) {
  std::vector<const CountedCall*> alike;
  std::set<std::string> names;
  for (const CountedCall& call : counted) {
    if (call.facts.kernels != target.kernels || call.counts.empty()) continue;
    alike.push_back(&call);
    for (const auto& [name, value] : call.counts) names.insert(name);
  }
  if (alike.empty()) return std::nullopt;
  ExtrapolatedCounts found;
  for (const std::string& name : names)
    found.counts[name] = static_cast<std::uint64_t>(std::llround(extrapolate(alike, name, target)));
  for (const char* name : kLeadingCounts)
    found.ambiguity = std::max(found.ambiguity, ambiguity_of(equations_of(alike, name), parts_of(target)));
  found.check_error = check(alike);
  return found;
}

std::vector<AxisValues> reduced_shapes(const ProblemInstance& problem, const Candidate& candidate,
                                       const AxisValues& axes, const DeviceFacts& device, const Arch& arch) {
  return Reduction(problem, candidate, device, arch).shapes(axes);
}

}  // namespace ak::profiler
