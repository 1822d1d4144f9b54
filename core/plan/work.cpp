// SPDX-License-Identifier: Apache-2.0
#include "core/plan/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/plan/random_input.h"

namespace ak {
namespace {

// Of 64 draws the least is below what the median of a dozen samples comes to, and their mean is off by a twentieth of
// the spread between draws; more values than this take longer than anyone waits for a formula (both chosen).
constexpr std::int64_t kMaxSeeds = 64, kMaxValues = 1 << 20;

/// What formulas take of a drawn input.
enum class Figure : std::uint8_t { sum, max, used, distinct };
constexpr std::pair<std::string_view, Figure> kFigures[] = {
    {"sum_", Figure::sum}, {"max_", Figure::max}, {"used_", Figure::used}, {"distinct_", Figure::distinct}};

/// "sum_lengths": what of which input.
struct DrawnName {
  Figure figure = Figure::sum;
  std::string input;
};

std::optional<DrawnName> drawn_name(const std::string& name) {
  for (const auto& [prefix, figure] : kFigures) {
    if (name.starts_with(prefix)) return DrawnName{figure, name.substr(prefix.size())};
  }
  return std::nullopt;
}

/// How many different values there are; nearly all inputs that are counted are indices of a table, so their values are close
/// together, and marking them takes a tenth of the time of sorting them.
std::int64_t distinct_count(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  const auto [least, most] = std::ranges::minmax(values);
  const std::uint64_t range = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
  // A mark is a byte here, a value eight: what is marked takes at most as much memory as the values.
  if (range >= values.size() * sizeof(std::int64_t)) {
    std::ranges::sort(values);
    return static_cast<std::int64_t>(values.size() - std::ranges::unique(values).size());
  }
  std::vector<std::uint8_t> found(range + 1);
  for (const std::int64_t value : values) found[static_cast<std::size_t>(value - least)] = 1;
  return std::accumulate(found.begin(), found.end(), std::int64_t{0});
}

/// An integer input as it is drawn under the timed distribution of a workload.
struct DrawnIntegers {
  DrawnName name;
  ak_random::Draw draw;

  [[nodiscard]] std::int64_t value(std::uint64_t seed) const {
    std::vector<std::int64_t> values = drawn(seed);
    switch (name.figure) {
      case Figure::sum:
        return std::accumulate(values.begin(), values.end(), std::int64_t{0});
      case Figure::max:
        return std::ranges::max(values);
      case Figure::used:
        return std::ranges::count_if(values, [](std::int64_t length) { return length > 0; });
      case Figure::distinct:
        return distinct_count(std::move(values));
    }
    AK_ASSERT(false, "every figure has a value");
  }

 private:
  /// The values; of where parts begin and end, the lengths of the parts.
  [[nodiscard]] std::vector<std::int64_t> drawn(std::uint64_t seed) const {
    std::vector<std::int64_t> values = random_integers(seed, name.input, draw);
    if (!draws_offsets(draw.kind)) return values;
    std::int64_t before = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t begin = std::exchange(before, values[i]);
      values[i] = static_cast<std::int64_t>(i) % draw.row == 0 ? 0 : values[i] - begin;
    }
    return values;
  }
};

/// Whether a figure can be taken of what is drawn like this.
bool suits(Figure figure, InputKind kind) {
  return figure == Figure::distinct || kind == InputKind::lengths || kind == InputKind::integers ||
         draws_offsets(kind);
}

Result<DrawnIntegers> integers_of(const ProblemInstance& problem, const Workload& workload,
                                  const std::string& name, const DrawnName& drawn) {
  const InputDistribution& timed = *problem.distributions_of(workload).front();
  const auto found = std::ranges::find(problem.definition.inputs, drawn.input, &TensorSpec::name);
  if (found != problem.definition.inputs.end()) {
    auto draws = problem.draws(timed, workload.axes);
    if (!draws) return draws.error();
    const ak_random::Draw& draw =
        (*draws)[static_cast<std::size_t>(found - problem.definition.inputs.begin())];
    if (!info(found->dtype).floating && suits(drawn.figure, draw.kind)) return DrawnIntegers{drawn, draw};
  }
  return InputError{fmt::format(
      "'{}': '{}' is not an integer input{} under the distribution '{}', which is timed", name, drawn.input,
      drawn.figure == Figure::distinct ? "" : " that is drawn by lengths or offsets, or by integers",
      timed.name)};
}

/// What a formula names of drawn inputs, by that name.
using DrawnNames = std::vector<std::pair<std::string, DrawnIntegers>>;

Result<DrawnNames> drawn_names(const Expression& formula, const ProblemInstance& problem,
                               const Workload& workload, const Environment& environment) {
  DrawnNames names;
  for (const std::string& name : formula.names()) {
    const auto drawn = drawn_name(name);
    if (!drawn || environment.contains(name)) continue;
    auto integers = integers_of(problem, workload, name, *drawn);
    if (!integers) return integers.error();
    names.emplace_back(name, std::move(integers).value());
  }
  return names;
}

InputError without_value(const Expression& formula, const std::string& why) {
  return InputError{fmt::format("formula '{}': {}", formula.text(), why)};
}

/// A formula for one workload, whose value may depend on what is drawn from a seed.
class SeededFormula {
 public:
  SeededFormula(const Expression& formula, const ProblemInstance& problem, const Workload& workload)
      : formula_(formula),
        environment_(problem.environment(workload.axes)),
        names_(drawn_names(formula, problem, workload, environment_)) {}

  /// As many seeds as a mean is taken over: one where nothing is drawn.
  [[nodiscard]] std::int64_t seed_count() const {
    std::int64_t values = 0;
    if (names_)
      for (const auto& [name, integers] : *names_) values += integers.draw.count;
    return values == 0 ? 1 : std::clamp<std::int64_t>(kMaxValues / values, 1, kMaxSeeds);
  }

  [[nodiscard]] Result<double> value(std::uint64_t seed) const {
    if (!names_) return without_value(formula_, names_.error().message);
    Environment environment = environment_;
    for (const auto& [name, integers] : *names_) environment[name] = integers.value(seed);
    const Result<std::int64_t> value = formula_.evaluate_integer(environment);
    if (!value) return without_value(formula_, value.error().message);
    return static_cast<double>(*value);
  }

 private:
  const Expression& formula_;
  Environment environment_;
  Result<DrawnNames> names_;
};

template <class AmountOf>
Result<Work> work_from(const ProblemInstance& problem, AmountOf amount_of_formula) {
  double flops = 0, read = 0, written = 0;
  for (const auto& [formula, amount] :
       {std::pair(&problem.flops, &flops), std::pair(&problem.bytes_read, &read),
        std::pair(&problem.bytes_written, &written)}) {
    const Result<double> value = amount_of_formula(*formula);
    if (!value) return value.error();
    *amount = *value;
  }
  return Work{.flops = flops, .bytes = read + written, .bytes_written = written};
}

}  // namespace

Result<double> amount_of(const Expression& formula, const ProblemInstance& problem, const Workload& workload,
                         DrawnWork drawn) {
  const SeededFormula seeded(formula, problem, workload);
  double sum = 0, least = std::numeric_limits<double>::infinity();
  const std::int64_t seeds = seeded.seed_count();
  for (std::int64_t seed = 0; seed < seeds; ++seed) {
    const Result<double> value = seeded.value(static_cast<std::uint64_t>(seed));
    if (!value) return value.error();
    sum += *value;
    least = std::min(least, *value);
  }
  return drawn == DrawnWork::least ? least : sum / static_cast<double>(seeds);
}

Result<Work> work_of(const ProblemInstance& problem, const Workload& workload, DrawnWork drawn) {
  return work_from(problem,
                   [&](const Expression& formula) { return amount_of(formula, problem, workload, drawn); });
}

Result<Work> work_of_contents(const ProblemInstance& problem, const Workload& workload, std::uint64_t seed) {
  return work_from(problem, [&](const Expression& formula) {
    return SeededFormula(formula, problem, workload).value(seed);
  });
}

}  // namespace ak
