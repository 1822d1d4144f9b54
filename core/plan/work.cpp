// SPDX-License-Identifier: Apache-2.0
#include "core/plan/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/plan/random_input.h"

namespace ak {
namespace {

// Of 64 draws the least is below what the median of a dozen samples comes to, and their mean is off by a twentieth of
// the spread between draws; more values than this take longer than anyone waits for a formula (both chosen).
constexpr std::int64_t kMaxSeeds = 64, kMaxValues = 1 << 20;

/// "sum_lengths": what of which input.
struct DrawnName {
  bool sum = false;
  std::string input;
};

std::optional<DrawnName> drawn_name(const std::string& name) {
  for (const auto& [prefix, sum] : {std::pair("sum_", true), std::pair("max_", false)}) {
    if (name.starts_with(prefix)) return DrawnName{sum, name.substr(std::string_view(prefix).size())};
  }
  return std::nullopt;
}

/// The lengths that an input says, under the timed distribution of a workload.
struct DrawnLengths {
  std::string input;
  ak_random::Draw draw;

  /// Of parts of unequal size it is where they begin and end.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> sum_and_max(std::uint64_t seed) const {
    const auto words = tensor_key(seed, input);
    const ak_random::Key key{words[0], words[1]};
    std::int64_t sum = 0, most = 0, before = 0;
    for (std::int64_t i = 0; i < draw.count; ++i) {
      std::int64_t length = ak_random::integer_element(key, static_cast<std::uint64_t>(i), draw);
      if (draw.kind == InputKind::offsets) {
        const std::int64_t end = std::exchange(before, length);
        length = i % draw.row == 0 ? 0 : length - end;
      }
      sum += length;
      most = std::max(most, length);
    }
    return {sum, most};
  }
};

Result<DrawnLengths> lengths_of(const ProblemInstance& problem, const Workload& workload,
                                const std::string& name, const std::string& input) {
  const InputDistribution& timed = *problem.distributions_of(workload).front();
  const auto found = std::ranges::find(problem.definition.inputs, input, &TensorSpec::name);
  if (found != problem.definition.inputs.end()) {
    auto draws = problem.draws(timed, workload.axes);
    if (!draws) return draws.error();
    const ak_random::Draw& draw =
        (*draws)[static_cast<std::size_t>(found - problem.definition.inputs.begin())];
    if (!info(found->dtype).floating && (draw.kind == InputKind::lengths || draw.kind == InputKind::offsets))
      return DrawnLengths{input, draw};
  }
  return InputError{fmt::format(
      "'{}': '{}' is not an integer input that is drawn by lengths or offsets under the distribution "
      "'{}', which is timed",
      name, input, timed.name)};
}

/// What a formula names of drawn lengths, by that name.
using DrawnNames = std::vector<std::pair<std::string, DrawnLengths>>;

Result<DrawnNames> drawn_names(const Expression& formula, const ProblemInstance& problem,
                               const Workload& workload, const Environment& environment) {
  DrawnNames names;
  for (const std::string& name : formula.names()) {
    const auto drawn = drawn_name(name);
    if (!drawn || environment.contains(name)) continue;
    auto lengths = lengths_of(problem, workload, name, drawn->input);
    if (!lengths) return lengths.error();
    names.emplace_back(name, std::move(lengths).value());
  }
  return names;
}

std::int64_t seed_count(const DrawnNames& names) {
  std::int64_t values = 0;
  for (const auto& [name, lengths] : names) values += lengths.draw.count;
  return values == 0 ? 1 : std::clamp<std::int64_t>(kMaxValues / values, 1, kMaxSeeds);
}

InputError without_value(const Expression& formula, const std::string& why) {
  return InputError{fmt::format("formula '{}': {}", formula.text(), why)};
}

}  // namespace

Result<double> amount_of(const Expression& formula, const ProblemInstance& problem, const Workload& workload,
                         DrawnWork drawn) {
  Environment environment = problem.environment(workload.axes);
  const auto names = drawn_names(formula, problem, workload, environment);
  if (!names) return without_value(formula, names.error().message);
  const std::int64_t seeds = seed_count(*names);
  double sum = 0, least = std::numeric_limits<double>::infinity();
  for (std::int64_t seed = 0; seed < seeds; ++seed) {
    for (const auto& [name, lengths] : *names) {
      const auto [total, most] = lengths.sum_and_max(static_cast<std::uint64_t>(seed));
      environment[name] = drawn_name(name)->sum ? total : most;
    }
    const Result<std::int64_t> value = formula.evaluate_integer(environment);
    if (!value) return without_value(formula, value.error().message);
    sum += static_cast<double>(*value);
    least = std::min(least, static_cast<double>(*value));
  }
  return drawn == DrawnWork::least ? least : sum / static_cast<double>(seeds);
}

Result<Work> work_of(const ProblemInstance& problem, const Workload& workload, DrawnWork drawn) {
  double flops = 0, read = 0, written = 0;
  for (const auto& [formula, amount] :
       {std::pair(&problem.flops, &flops), std::pair(&problem.bytes_read, &read),
        std::pair(&problem.bytes_written, &written)}) {
    const Result<double> value = amount_of(*formula, problem, workload, drawn);
    if (!value) return value.error();
    *amount = *value;
  }
  return Work{.flops = flops, .bytes = read + written, .bytes_written = written};
}

}  // namespace ak
