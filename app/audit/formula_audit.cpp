// SPDX-License-Identifier: Apache-2.0
#include "app/audit/formula_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "app/audit/formula_shapes.h"
#include "app/setup/assembler.h"
#include "core/device/device_catalog.h"
#include "core/device/floor.h"
#include "core/error.h"
#include "core/plan/work.h"
#include "runtime/evaluator/work_count.h"

namespace ak::app {
namespace {

using runtime::WorkCount;

constexpr double kTolerance = 0.01;  // chosen: far below what a missing term or factor makes
// Of growths (chosen): a wrong power is off by a half and more, starts of loops and ends of tiles by some percent.
constexpr double kGrowthTolerance = 0.05;
constexpr double kSectorBytes = 32;  // the least that memory moves (emulator/machine/counters.cpp)

/// A formula's value on one shape, and what was counted there.
struct Compared {
  std::string shape;
  double formula = 0, counted = 0;
};

bool agree(double a, double b, double tolerance = kTolerance) {
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

AuditFinding finding_of(std::string name, std::string what, std::size_t shapes) {
  return {.kind = AuditKind::formula,
          .name = std::move(name),
          .what = std::move(what),
          .tensor = {},
          .verdict = AuditVerdict::accepted,
          .checks = static_cast<int>(shapes),
          .evidence = {}};
}

void reject(AuditFinding& finding, std::string why) {
  finding.verdict = AuditVerdict::rejected;
  ++finding.rejections;
  if (finding.message.empty()) finding.message = std::move(why);
}

void set_uncompared(AuditFinding& finding, std::string why) {
  finding.verdict = AuditVerdict::not_applicable;
  finding.message = std::move(why);
}

/// How much a formula that is off says, of what there is.
double share_of(const Compared& one) {
  return one.counted > 0 && one.formula > 0 ? one.formula / one.counted
                                            : std::numeric_limits<double>::infinity();
}

AuditFinding judge_bytes(std::string name, std::string what, std::vector<Compared> compared) {
  AuditFinding finding = finding_of(std::move(name), std::move(what), compared.size());
  // The clearest first: it gives the message.
  std::ranges::sort(compared, std::greater(),
                    [](const Compared& one) { return std::abs(std::log(share_of(one))); });
  for (const Compared& one : compared)
    if (!agree(one.formula, one.counted) && std::abs(one.formula - one.counted) > kSectorBytes)
      reject(finding, fmt::format("the formula says {:.0f} and {:.0f} are touched at {}", one.formula,
                                  one.counted, one.shape));
  return finding;
}

/// By how much the growth of something itself grows when an axis doubles twice: terms that do not depend on the axis
/// drop out.
struct Growth {
  double first = 0, second = 0;

  [[nodiscard]] bool none() const { return first == 0 && second == 0; }
  [[nodiscard]] double ratio() const {
    return first != 0 ? second / first : std::numeric_limits<double>::infinity();
  }
};

struct AxisGrowth {
  std::string axis;
  Growth formula, counted;
  double least = 0;  ///< what was counted on the smallest of the shapes
};

AxisGrowth growth_of(const AxisShapes& shapes, const std::vector<Compared>& flops) {
  const auto growth = [&](double Compared::*value) {
    const auto at = [&](std::size_t i) { return flops[shapes.workloads[i]].*value; };
    return Growth{at(1) - at(0), at(2) - at(1)};
  };
  return {.axis = shapes.axis,
          .formula = growth(&Compared::formula),
          .counted = growth(&Compared::counted),
          .least = flops[shapes.workloads[0]].counted};
}

std::vector<AxisGrowth> growths_of(const FormulaShapes& shapes, const std::vector<Compared>& flops) {
  std::vector<AxisGrowth> growths;
  for (const AxisShapes& axis : shapes.axes) growths.push_back(growth_of(axis, flops));
  return growths;
}

/// @param ratios whether it matters how fast both grow
void judge_growth(AuditFinding& finding, const AxisGrowth& growth, bool ratios) {
  const double more = growth.counted.first + growth.counted.second;
  if (growth.formula.none()) {
    if (more > kTolerance * growth.least)
      reject(finding,
             fmt::format("the reference's operations grow with {} by {:.3g} of {:.3g}, the formula does not",
                         growth.axis, more, growth.least));
  } else if (growth.counted.none()) {
    reject(finding, fmt::format("the formula grows with {}, the reference's operations do not", growth.axis));
  } else if (ratios && !agree(growth.formula.ratio(), growth.counted.ratio(), kGrowthTolerance)) {
    reject(finding,
           fmt::format("with {} the formula's growth is {:.4g} times as large when the axis doubles, "
                       "that of the reference's operations {:.4g} times",
                       growth.axis, growth.formula.ratio(), growth.counted.ratio()));
  }
}

/// Executed operations for each of the formula's, without those that do not grow with the axis in which the formula
/// grows most; nothing where it grows with none.
std::optional<double> factor_of(const std::vector<AxisGrowth>& growths) {
  const auto most =
      std::ranges::max_element(growths, {}, [](const AxisGrowth& one) { return one.formula.second; });
  if (most == growths.end() || most->formula.second <= 0) return std::nullopt;
  return most->counted.second / most->formula.second;
}

/// The product that the CPU device stands for, with the clocks by which floors go.
DeviceFacts with_clocks(DeviceFacts device) {
  if (const DeviceEntry* product = DeviceCatalog::shipped().nominal(device.arch)) {
    const auto figure = [&](std::string_view name) {
      return static_cast<int>(product->value(name).value_or(0));
    };
    device.clock_mhz = figure("boost_clock_mhz");
    device.memory_clock_mhz = figure("memory_clock_mhz");
    device.memory_bus_bits = figure("memory_bus_bits");
  }
  return device;
}

/// Whether a kernel of this problem may be bound by arithmetic on the device: by its formulas, where each operation is
/// `factor` of them.
bool arithmetic_bounds(ProblemInstance problem, double factor, const DeviceFacts& device) {
  ProblemInstance idle = problem;
  idle.flops = Expression::parse("0").value();
  const auto scaled =
      Expression::parse(fmt::format("({}) * {}", problem.flops.text(), std::max(1L, std::lround(factor))));
  if (scaled) problem.flops = scaled.value();
  return std::ranges::any_of(problem.workloads, [&](const Workload& workload) {
    return workload.has(WorkloadRole::time) &&
           floor_of(problem, workload, device).time > floor_of(idle, workload, device).time;
  });
}

/// What is counted as the reference's operations: of a problem of integers, or one that only compares, instructions for
/// integers, which say with what its work grows and not how much it is.
enum class Operations : std::uint8_t { floating, integers };

double elements_of(const Definition& definition, const TensorSpec& tensor, const AxisValues& sizes) {
  double elements = tensor.is_scalar() ? 0 : 1;
  if (!tensor.is_scalar())
    for (const std::int64_t extent : tensor_extents(definition, tensor, sizes))
      elements *= static_cast<double>(extent);
  return elements;
}

/// Of the input with the most elements at these sizes.
bool holds_integers(const Definition& definition, const AxisValues& sizes) {
  const TensorSpec& largest = *std::ranges::max_element(definition.inputs, {}, [&](const TensorSpec& tensor) {
    return elements_of(definition, tensor, sizes);
  });
  return !info(largest.dtype).floating;
}

/// @param flops with the counts of floating-point operations
Operations operations_of(const ProblemInstance& problem, const FormulaShapes& shapes,
                         const std::vector<Compared>& flops, const std::vector<AxisGrowth>& growths) {
  const auto no = [&](double Compared::*value) {
    return std::ranges::all_of(flops, [&](const Compared& one) { return one.*value == 0; });
  };
  if (no(&Compared::formula)) return Operations::floating;
  if (no(&Compared::counted)) return Operations::integers;
  // Integers that a reference makes floating-point numbers of are counted as these: they grow with every axis.
  const bool grow = std::ranges::all_of(
      growths, [](const AxisGrowth& one) { return one.formula.none() || !one.counted.none(); });
  return !grow && holds_integers(problem.definition, shapes.workloads.front().axes) ? Operations::integers
                                                                                    : Operations::floating;
}

AuditFinding judge_flops(const ProblemInstance& problem, const DeviceFacts& device,
                         const FormulaShapes& shapes, std::vector<Compared> flops,
                         const std::vector<WorkCount>& counts) {
  std::vector<AxisGrowth> growths = growths_of(shapes, flops);
  const bool integers = operations_of(problem, shapes, flops, growths) == Operations::integers;
  if (integers) {
    for (std::size_t i = 0; i < counts.size(); ++i) flops[i].counted = counts[i].integer_operations;
    growths = growths_of(shapes, flops);
  }
  AuditFinding finding = finding_of("flops",
                                    integers ? "grows with the axes that the reference's work grows with"
                                             : "grows as the reference's operations, and is not more",
                                    flops.size() + shapes.axes.size());
  for (const AxisGrowth& growth : growths) judge_growth(finding, growth, !integers);
  if (integers) {
    if (growths.empty()) set_uncompared(finding, "no axis of the small workloads can be doubled twice");
    return finding;
  }
  for (const Compared& one : flops)
    if (one.formula > one.counted && !agree(one.formula, one.counted))
      reject(finding, fmt::format("the formula says {:.0f} and the reference needs {:.0f} at {}", one.formula,
                                  one.counted, one.shape));
  const auto factor = factor_of(growths);
  if (factor && !agree(*factor, 1, kGrowthTolerance) &&
      arithmetic_bounds(problem, *factor, with_clocks(device)))
    reject(
        finding,
        fmt::format(
            "the reference executes {:.4g} operations for each of the formula's, which sets the floor; where "
            "kernels need no more than the formula says, audit_exempt of \"flops\" says why",
            *factor));
  if (growths.empty() && finding.as_expected())
    set_uncompared(finding, "no axis of the small workloads can be doubled twice");
  return finding;
}

void exempt_if_said(const ProblemInstance& problem, AuditFinding& finding) {
  const auto exempt = problem.audit_exempt.find(finding.name);
  if (finding.as_expected() || exempt == problem.audit_exempt.end()) return;
  finding.verdict = AuditVerdict::exempt;
  finding.message = exempt->second.begin()->second;  // a formula has one reason
}

/// All elements of all of these tensors.
double bytes_of(const Definition& definition, const std::vector<TensorSpec>& tensors,
                const AxisValues& sizes) {
  double bytes = 0;
  for (const TensorSpec& tensor : tensors)
    bytes += info(tensor.dtype).bytes * elements_of(definition, tensor, sizes);
  return bytes;
}

AuditFinding operations_of_python() {
  AuditFinding finding = finding_of("flops", "grows as the reference's operations, and is not more", 0);
  set_uncompared(finding, "nothing of a reference in Python is executed on the CPU device");
  return finding;
}

std::vector<WorkCount> sizes_of_tensors(const ProblemInstance& problem) {
  std::vector<WorkCount> counts;
  for (const Workload& workload : problem.workloads)
    counts.push_back(
        {.workload = workload.name,
         .bytes_read = bytes_of(problem.definition, problem.definition.inputs, workload.axes),
         .bytes_written = bytes_of(problem.definition, problem.definition.outputs, workload.axes)});
  return counts;
}

}  // namespace

std::vector<AuditFinding> audit_formulas(const ProblemInstance& problem, const Target& target,
                                         const Config& config, const std::vector<std::string>& workloads,
                                         std::uint64_t seed) {
  const FormulaShapes shapes = formula_shapes(problem, workloads);
  auto counted = std::make_shared<ProblemInstance>(problem);
  counted->workloads = shapes.workloads;
  const std::vector<WorkCount> counts =
      problem.python ? sizes_of_tensors(*counted)
                     : runtime::count_work(evaluator_options(target, config), source_assembler(),
                                           target.device.value(), counted, seed);
  std::vector<Compared> flops, read, written;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Workload& workload = counted->workloads[i];
    const Result<Work> work = work_of_contents(problem, workload, seed);
    if (!work) fail(ExitCode::bad_input, "{}: {}", problem.definition.name, work.error().message);
    const std::string shape = shape_name(problem.definition, workload.axes);
    flops.push_back({shape, work->flops, counts[i].flops});
    read.push_back({shape, work->bytes - work->bytes_written, counts[i].bytes_read});
    written.push_back({shape, work->bytes_written, counts[i].bytes_written});
  }
  std::vector<AuditFinding> findings;
  findings.push_back(problem.python ? operations_of_python()
                                    : judge_flops(problem, *target.device, shapes, flops, counts));
  findings.push_back(
      judge_bytes("bytes_read", "the different bytes of inputs that the reference reads", read));
  findings.push_back(judge_bytes("bytes_written", "the different bytes of outputs that it writes", written));
  for (AuditFinding& finding : findings) exempt_if_said(problem, finding);
  return findings;
}

}  // namespace ak::app
