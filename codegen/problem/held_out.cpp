// SPDX-License-Identifier: Apache-2.0
#include "codegen/problem/held_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <span>
#include <utility>

#include "codegen/problem/problem_reader.h"
#include "core/error.h"
#include "core/plan/random_input.h"

namespace ak::codegen {
namespace {

// Each draw moves every axis to the nearest size that the constraints allow, so that multiples of up to twice
// kMaxSteps are found at once; draws are repeated for what couples axes.
constexpr std::int64_t kMaxSteps = 2'048;
constexpr int kFractionBits = 40;  // beyond any axis whose tensor a device could hold

// The logarithm to base 2 with straight lines between powers of two, in fixed point: unlike that of a math
// library it is the same on every machine.
std::uint64_t octaves(std::uint64_t size) {
  const int whole = 63 - std::countl_zero(size);
  const std::uint64_t rest = size - (std::uint64_t{1} << whole);
  const std::uint64_t fraction =
      whole > kFractionBits ? rest >> (whole - kFractionBits) : rest << (kFractionBits - whole);
  return (static_cast<std::uint64_t>(whole) << kFractionBits) + fraction;
}

std::int64_t size_at(std::uint64_t octave) {
  const int whole = static_cast<int>(octave >> kFractionBits);
  const std::uint64_t fraction = octave & ((std::uint64_t{1} << kFractionBits) - 1);
  const std::uint64_t rest =
      whole > kFractionBits ? fraction << (whole - kFractionBits) : fraction >> (kFractionBits - whole);
  return static_cast<std::int64_t>((std::uint64_t{1} << whole) + rest);
}

/// The sizes that an axis may take, in ascending order.
class AxisSizes {
 public:
  explicit AxisSizes(const AxisRange& range)
      : range_(range), first_(range.low / range.multiple + (range.low % range.multiple != 0 ? 1 : 0)) {}

  [[nodiscard]] std::int64_t count() const {
    return range_.values.empty() ? range_.high / range_.multiple - first_ + 1
                                 : static_cast<std::int64_t>(range_.values.size());
  }
  [[nodiscard]] std::int64_t at(std::int64_t index) const {
    return range_.values.empty() ? (first_ + index) * range_.multiple
                                 : range_.values[static_cast<std::size_t>(index)];
  }
  /// An index: of listed values each is as likely as the next, of others each octave.
  [[nodiscard]] std::int64_t draw(std::uint64_t random) const {
    if (!range_.values.empty()) return static_cast<std::int64_t>(random % range_.values.size());
    const std::int64_t last = first_ + (count() - 1);
    const std::uint64_t low = octaves(static_cast<std::uint64_t>(first_));
    const std::uint64_t end = octaves(static_cast<std::uint64_t>(last) + 1);
    return std::clamp(size_at(low + random % (end - low)), first_, last) - first_;
  }

 private:
  const AxisRange& range_;
  std::int64_t first_;  ///< multiple of the first size
};

/// A constraint of the definition, for the moment when the last of its axes has a size.
struct Rule {
  Expression expression;
  std::size_t ready = 0;  ///< index of that axis among the range's
};

/// The names of an expression, and those that its derived axes follow from.
std::set<std::string> all_names(const Expression& expression, const Definition& definition) {
  std::set<std::string> names = expression.names();
  for (auto axis = definition.axes.rbegin(); axis != definition.axes.rend(); ++axis) {
    if (axis->derived && names.contains(axis->name))
      names.insert(axis->derived->names().begin(), axis->derived->names().end());
  }
  return names;
}

Rule rule_of(const Expression& expression, const HeldOutRange& range, const Definition& definition) {
  Rule rule{expression};
  const auto names = all_names(expression, definition);
  std::size_t index = 0;
  for (const auto& [axis, bounds] : range.axes) {
    if (std::ranges::find(names, axis) != names.end()) rule.ready = index;
    ++index;
  }
  return rule;
}

/// The definition's constraints, and those of a candidate that mention nothing but what is known by then.
std::vector<Rule> rules_of(const ProblemInstance& problem, const HeldOutRange& range,
                           const ShapeWishes& wishes, const Environment& known) {
  std::vector<Rule> rules;
  for (const std::string& text : problem.definition.constraints) {
    const Result<Expression> parsed = Expression::parse(text);
    AK_ASSERT(parsed.ok(), "constraints were parsed when the definition was read");
    rules.push_back(rule_of(*parsed, range, problem.definition));
  }
  for (const Axis& axis : problem.definition.axes) {
    if (!axis.derived) continue;
    const Result<Expression> positive = Expression::parse(axis.name + " >= 1");
    AK_ASSERT(positive.ok(), "an axis's name is an expression");
    rules.push_back(rule_of(*positive, range, problem.definition));
  }
  for (const Expression& constraint : wishes.constraints) {
    const auto is_derived = [&](const std::string& name) {
      const auto axis = std::ranges::find(problem.definition.axes, name, &Axis::name);
      return axis != problem.definition.axes.end() && axis->derived.has_value();
    };
    const bool decidable = std::ranges::all_of(constraint.names(), [&](const std::string& name) {
      return known.contains(name) || range.axes.contains(name) || is_derived(name);
    });
    if (decidable) rules.push_back(rule_of(constraint, range, problem.definition));
  }
  return rules;
}

Environment known_to(const ProblemInstance& problem, const ShapeWishes& wishes) {
  Environment known = problem.environment({});
  for (const auto& [name, value] : wishes.known) known[name] = value;
  return known;
}

/// Draws one shape, axis by axis.
class ShapeDraw {
 public:
  ShapeDraw(const Definition& definition, const HeldOutRange& range, std::span<const Rule> rules,
            const Environment& known)
      : definition_(definition), range_(range), rules_(rules), environment_(known) {}

  /// False where an axis has no allowed size near the one drawn. @param random of an axis's index
  template <class Random>
  bool draw_all(Random random) {
    std::size_t index = 0;
    for (const auto& [axis, bounds] : range_.axes) {
      const AxisSizes sizes(bounds);
      if (!settle(axis, sizes, sizes.draw(random(static_cast<std::uint32_t>(index))), index)) return false;
      ++index;
    }
    return true;
  }
  [[nodiscard]] const AxisValues& sizes() const { return sizes_; }
  /// What the size tried last broke.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool allows(const std::string& axis, std::int64_t size, std::size_t index) {
    environment_[axis] = size;
    add_axes(definition_, environment_);
    for (const Rule& rule : rules_) {
      if (rule.ready != index) continue;
      const Result<bool> holds = rule.expression.evaluate_bool(environment_);
      if (holds.ok() && *holds) continue;
      error_ = fmt::format("the constraint '{}' does not hold", rule.expression.text());
      return false;
    }
    return true;
  }
  bool settle(const std::string& axis, const AxisSizes& sizes, std::int64_t drawn, std::size_t index) {
    for (std::int64_t step = 0; step <= kMaxSteps; ++step) {
      const bool below = drawn >= step, above = sizes.count() - drawn > step;
      if (!below && !above) return false;
      for (const auto& [possible, at] :
           {std::pair{below, drawn - step}, {above && step > 0, above ? drawn + step : drawn}}) {
        if (!possible || !allows(axis, sizes.at(at), index)) continue;
        sizes_[axis] = sizes.at(at);
        return true;
      }
    }
    return false;
  }

  const Definition& definition_;
  const HeldOutRange& range_;
  std::span<const Rule> rules_;
  Environment environment_;
  AxisValues sizes_;
  std::string error_;
};

bool suits(const HeldOutRange& range, DeviceKind device) {
  return device == DeviceKind::emulator ? range.tier == WorkloadTier::emulator
                                        : range.tier != WorkloadTier::deep;
}

std::vector<const HeldOutRange*> ranges_for(const ProblemInstance& problem, DeviceKind device) {
  std::vector<const HeldOutRange*> ranges;
  for (const HeldOutRange& range : problem.held_out) {
    if (suits(range, device)) ranges.push_back(&range);
  }
  return ranges;
}

/// In rotation from `ranges`.
std::vector<Workload> sample(const ProblemInstance& problem, const std::vector<const HeldOutRange*>& ranges,
                             int count, std::uint64_t seed, const ShapeWishes& wishes) {
  std::vector<Workload> workloads;
  for (int i = 0; i < count && !ranges.empty(); ++i) {
    const HeldOutRange& range = *ranges[static_cast<std::size_t>(i) % ranges.size()];
    auto sizes = draw_shape(problem, range, seed, static_cast<std::uint32_t>(i), wishes);
    if (!sizes && range.around_shape) continue;  // the candidate is for no shape there
    if (!sizes)
      fail(ExitCode::bad_input, "{}: held-out range '{}': {}", problem.definition.name, range.name,
           sizes.error().message);
    Workload& workload = workloads.emplace_back();
    workload.name = fmt::format("held_out_{}", workloads.size());
    workload.axes = std::move(sizes).value();
    workload.uid = workload_uid(problem, workload.axes);
    workload.roles = {WorkloadRole::check};
    workload.tier = range.tier;
  }
  return workloads;
}

}  // namespace

Result<AxisValues> draw_shape(const ProblemInstance& problem, const HeldOutRange& range, std::uint64_t seed,
                              std::uint32_t index, const ShapeWishes& wishes) {
  const std::array key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  const Environment known = known_to(problem, wishes);
  const std::vector<Rule> rules = rules_of(problem, range, wishes, known);
  const bool one_shape =
      std::ranges::all_of(range.axes, [](const auto& axis) { return AxisSizes(axis.second).count() == 1; });
  const std::uint32_t draws = one_shape ? 1 : wishes.draws;
  std::string input_error;
  for (std::uint32_t attempt = 0; attempt < draws; ++attempt) {
    ShapeDraw shape(problem.definition, range, rules, known);
    const bool drawn = shape.draw_all([&](std::uint32_t axis) {
      const auto words = philox4x32({index, attempt, axis, 0}, key);
      return std::uint64_t{words[0]} << 32 | words[1];
    });
    input_error = drawn ? size_error(problem, shape.sizes()) : shape.error();
    if (input_error.empty() && wishes.accepts && !wishes.accepts(shape.sizes()))
      input_error = "none is wanted";
    if (input_error.empty()) return shape.sizes();
  }
  return InputError{one_shape ? fmt::format("its only shape is not possible: {}", input_error)
                              : fmt::format("of {} shapes drawn none is possible: {}", draws, input_error)};
}

std::vector<Workload> sample_held_out(const ProblemInstance& problem, DeviceKind device, int count,
                                      std::uint64_t seed, const ShapeWishes& wishes) {
  return sample(problem, ranges_for(problem, device), count, seed, wishes);
}

std::vector<Workload> sample_to_time(const ProblemInstance& problem, DeviceKind device, int count,
                                     std::uint64_t seed) {
  std::vector<const HeldOutRange*> ranges = ranges_for(problem, device), large;
  std::ranges::copy_if(ranges, std::back_inserter(large),
                       [](const HeldOutRange* range) { return range->tier != WorkloadTier::emulator; });
  return sample(problem, large.empty() ? ranges : large, count, seed, {});
}

}  // namespace ak::codegen
