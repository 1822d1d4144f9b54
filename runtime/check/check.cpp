// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/check.h"

#include <functional>

#include "runtime/check/output_comparison.h"

namespace ak::runtime {
namespace {

// Of warps and blocks in the second call on the CPU device, so that what depends on their order shows.
constexpr std::uint64_t kOtherOrder = 1;

std::string percent_wrong(const Comparison& comparison) {
  const double percent =
      100.0 * static_cast<double>(comparison.wrong) / static_cast<double>(comparison.count);
  return percent < 1 ? fmt::format("{} of {} elements wrong", comparison.wrong, comparison.count)
                     : fmt::format("{:.0f} % of elements wrong", percent);
}

class OutputComparison {
 public:
  OutputComparison(RunContext& run_context, const CandidateRun& run, const ReferenceData& reference)
      : run_(run),
        reference_(reference),
        layout_(run_context.problem.tensors[reference.tensor]),
        run_context_(run_context) {}

  /// Fills `record`; a message and the gate when the tensor is wrong.
  std::optional<std::string> compare(CheckRecord& record) {
    const ErrorBounds& bounds = reference_.bounds;
    const ComparedOutput compared =
        compare_output(run_context_, run_.data(), reference_, run_.output(reference_.tensor).address,
                       {.element = bounds.element, .far = bounds.far});
    result_ = compared.comparison;
    judgement_ = judge(result_, bounds);
    const auto gate = stopped_by();
    record = {.workload = run_.data().workload->name,
              .distribution = run_.data().distribution,
              .seed = run_.data().seed,
              .tensor = layout_.name,
              .passed = !gate,
              .max_error = result_.max_error,
              .mean_error = result_.mean_error,
              .tolerance = bounds.element,
              .worst_index = compared.index(),
              .worst_expected = compared.expected,
              .worst_got = compared.got,
              .nonfinite_mismatches = result_.nonfinite};
    if (record.passed) return std::nullopt;
    gate_ = *gate;
    return message(record);
  }

  /// What the comparison failed at.
  [[nodiscard]] Gate gate() const { return gate_; }

 private:
  std::optional<Gate> stopped_by() const {
    if (judgement_ == Judgement::passed) return std::nullopt;
    const std::int64_t finite_and_wrong = result_.wrong - result_.nonfinite;
    const bool fails_tolerance =
        judgement_ != Judgement::nonfinite || finite_and_wrong > reference_.bounds.strays || result_.far > 0;
    for (const auto& [gate, fails] : {std::pair{Gate::poison, result_.unwritten > 0},
                                      {Gate::non_finite, result_.nonfinite > 0},
                                      {Gate::tolerance, fails_tolerance}}) {
      if (fails && gate_enabled(gate)) return gate;
    }
    return std::nullopt;
  }

  std::string message(const CheckRecord& record) const {
    const std::string& problem = run_context_.problem.problem;
    const std::string where =
        fmt::format("on workload {}, distribution {}", record.workload, record.distribution);
    if (result_.unwritten > 0) {
      return fmt::format(
          "{}: {} was never written, or with the bits that outputs are filled with before (the harness's {} "
          "pattern) {}; {} of {} elements unwritten",
          problem, name(result_.first_unwritten), info(layout_.dtype).floating ? "NaN" : "poison", where,
          result_.unwritten, result_.count);
    }
    if (judgement_ == Judgement::rms) {
      return fmt::format(
          "{}: the root mean square error of {} is {:.1e}, over the tolerance of {:.1e} {} (no more single "
          "elements are over their tolerance of {:.1e} than may be)",
          problem, layout_.name, result_.rms_error, reference_.bounds.rms, where, record.tolerance);
    }
    if (judgement_ == Judgement::unequal) {
      return fmt::format(
          "{}: {} of {} elements of {} are not the exact result, rounded once to {}, {}; {} may differ",
          problem, result_.unequal, result_.count, layout_.name, info(layout_.dtype).name, where,
          reference_.bounds.unequal);
    }
    return fmt::format("{}: {} = {:.6g}, expected {:.6g} ({}) {}; {}", problem, name(record.worst_index),
                       record.worst_got, record.worst_expected, size_of_error(record), where,
                       percent_wrong(result_) + extent());
  }

  /// Which elements are wrong, where neither one nor all are.
  std::string extent() const {
    if (result_.wrong < 2 || result_.wrong == result_.count) return {};
    const std::int64_t columns = rows_of(run_.data().workload->shapes[reference_.tensor]).length;
    std::string text = fmt::format(", from {} to {}", name(result_.first_wrong), name(result_.last_wrong));
    if (result_.first_column > 0 || result_.last_column < columns - 1)
      text += fmt::format(", with a last index of {} to {}", result_.first_column, result_.last_column);
    return text;
  }

  std::string size_of_error(const CheckRecord& record) const {
    const OutputRule rule = run_context_.problem.tolerance.rule(layout_.name);
    if (!rule.gather.empty())
      return fmt::format("what its indices select from {} must be equal, and no index may repeat in a row",
                         rule.gather);
    if (!info(layout_.dtype).floating)
      return rule.equal_share && result_.far > 0 ? "no integer may be more than 1 off" : "must be equal";
    if (result_.nonfinite > 0) return "NaN and infinity must be where the reference has them";
    return fmt::format("error {:.1e}, tolerance {:.1e}", record.max_error, record.tolerance);
  }

  std::string name(std::int64_t index) const {
    return element_name(layout_.name, run_.data().workload->shapes[reference_.tensor], index);
  }

  const CandidateRun& run_;
  const ReferenceData& reference_;
  const TensorLayout& layout_;
  RunContext& run_context_;
  Comparison result_;
  Judgement judgement_ = Judgement::passed;
  Gate gate_ = Gate::tolerance;
};

Outcome incorrect(Gate gate, StageId stage, std::string message) {
  return {.status = Status::incorrect,
          .stage = stage,
          .message = std::move(message),
          .diagnostics = {},
          .gate = gate};
}

/// A failure that only another gate than the comparison's own brought to light. What was never written was
/// the poison's to find, wherever it shows.
std::optional<Outcome> found_by(Gate gate, std::optional<Outcome> failure) {
  if (failure && failure->status == Status::incorrect && failure->gate != Gate::poison) failure->gate = gate;
  return failure;
}

std::optional<Outcome> difference(RunContext& run_context, const CandidateRun& first,
                                  const CandidateRun& second) {
  for (const ReferenceData& reference : second.data().references) {
    const TensorLayout& layout = run_context.problem.tensors[reference.tensor];
    const auto at =
        run_context.kernels.first_difference(first.output(reference.tensor), second.output(reference.tensor));
    if (!at) continue;
    const std::int64_t index = static_cast<std::int64_t>(*at) / info(layout.dtype).bytes;
    return Outcome{
        .status = Status::nondeterministic,
        .stage = StageId::check,
        .message = fmt::format(
            "two calls on the same inputs differ, first near {} on workload {}, distribution {}: a race, "
            "an order of atomic additions, or state kept between calls",
            element_name(layout.name, second.data().workload->shapes[reference.tensor], index),
            second.data().workload->name, second.data().distribution),
        .diagnostics = {},
        .gate = Gate::repeat_bitwise};
  }
  return std::nullopt;
}

// The same inputs again, into other buffers: must give the same bytes, and right ones. The bytes of a result
// that has been compared are right without another comparison.
std::optional<Outcome> check_repeat(RunContext& run_context, const CandidateRun& first,
                                    const CandidateRun& second) {
  if (auto failed = second.run(StageId::check, {.order_seed = kOtherOrder})) return failed;
  if (auto failed = second.verify_memory(StageId::check)) return failed;
  auto differs = difference(run_context, first, second);
  if (!differs) return std::nullopt;
  std::vector<CheckRecord> ignored;
  if (auto failed = compare_outputs(run_context, second, StageId::check,
                                    "in the second call on the same inputs", ignored))
    return found_by(Gate::repeat_bitwise, std::move(failed));
  return run_context.problem.tolerance.allow_nondeterministic ? std::nullopt : differs;
}

// An output that shares an input's memory is overwritten by the second call: with aliases, only
// the results count.
bool has_alias(const OpenProblem& problem) {
  for (const TensorLayout& tensor : problem.tensors) {
    if (!tensor.alias_of.empty()) return true;
  }
  return false;
}

// Weights are prepared twice, the second time in another order: it must give the same bytes.
std::optional<Outcome> prepare_twice(CandidateRun& run) {
  if (!run.prepares_weights()) return std::nullopt;
  if (auto failed = run.prepare(StageId::check, {.order_seed = kOtherOrder})) return failed;
  const std::vector<std::uint64_t> first = run.prepared_hashes();
  if (auto failed = run.prepare(StageId::check)) return failed;
  if (first == run.prepared_hashes() || !gate_enabled(Gate::repeat_bitwise)) return std::nullopt;
  return Outcome{
      .status = Status::nondeterministic,
      .stage = StageId::check,
      .message = fmt::format("the same weights, prepared twice, give different bytes on workload {}",
                             run.data().workload->name),
      .diagnostics = {},
      .gate = Gate::repeat_bitwise};
}

using Bind = std::function<Result<CandidateRun, Outcome>()>;

std::optional<Outcome> check_distribution(RunContext& run_context, const Bind& bind,
                                          std::vector<CheckRecord>& records) {
  auto first = bind();
  if (!first) return first.error();
  if (auto failed = prepare_twice(first.value())) return failed;
  if (auto failed = first->run(StageId::check)) return failed;
  if (auto failed = first->verify_memory(StageId::check)) return failed;
  if (auto failed = compare_outputs(run_context, first.value(), StageId::check, "", records)) return failed;
  if (!gate_enabled(Gate::repeat_bitwise)) return std::nullopt;
  if (has_alias(run_context.problem)) {
    if (auto failed = first->run(StageId::check, {.order_seed = kOtherOrder})) return failed;
    if (auto failed = first->verify_memory(StageId::check)) return failed;
    std::vector<CheckRecord> ignored;
    return found_by(Gate::repeat_bitwise, compare_outputs(run_context, first.value(), StageId::check,
                                                          "in the second call on the same inputs", ignored));
  }
  auto second = bind();
  if (!second) return second.error();
  if (auto failed = second.value().prepare(StageId::check)) return failed;
  return check_repeat(run_context, first.value(), second.value());
}

}  // namespace

std::string element_name(const std::string& tensor, const std::vector<std::int64_t>& shape,
                         std::int64_t index) {
  if (shape.empty()) return tensor;
  std::vector<std::int64_t> indices(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    indices[i] = index % shape[i];
    index /= shape[i];
  }
  return fmt::format("{}[{}]", tensor, fmt::join(indices, ","));
}

std::optional<Outcome> compare_outputs(RunContext& run_context, const CandidateRun& run, StageId stage,
                                       const std::string& when, std::vector<CheckRecord>& records) {
  if (stage == StageId::recheck && !gate_enabled(Gate::timed_outputs)) return std::nullopt;
  std::optional<Outcome> failure;
  for (const ReferenceData& reference : run.data().references) {
    CheckRecord record;
    OutputComparison comparison(run_context, run, reference);
    const auto wrong = comparison.compare(record);
    records.push_back(std::move(record));
    if (wrong && !failure)
      failure =
          incorrect(comparison.gate(), stage, when.empty() ? *wrong : fmt::format("{} ({})", *wrong, when));
  }
  return stage == StageId::recheck ? found_by(Gate::timed_outputs, std::move(failure)) : failure;
}

std::optional<Outcome> check_workload(RunContext& run_context, DataStore& store, ProgramLoader& program,
                                      const WorkloadLayout& workload, const WorkloadTask& task,
                                      std::uint64_t seed, std::vector<CheckRecord>& records) {
  bool first = true;
  for (const std::string& distribution : task.distributions) {
    if (!first && !gate_enabled(Gate::distributions)) break;
    auto data = store.get(workload, distribution, seed);
    if (!data) return data.error();
    const LoadedImage& loaded = program.load();
    const auto bind = [&] {
      return store.with_room([&] {
        return CandidateRun::create(run_context, data.value(), task.plan, loaded, task.separate_outputs);
      });
    };
    if (auto failed = check_distribution(run_context, bind, records))
      return !first && failed->gate == Gate::tolerance ? found_by(Gate::distributions, std::move(failed))
                                                       : failed;
    first = false;
  }
  return std::nullopt;
}

std::optional<Outcome> check_twin(RunContext& run_context, DataStore& store, Reference& reference,
                                  const DeviceTask& task, std::vector<CheckRecord>& records) {
  AK_ASSERT(task.twin, "the task asks for the twin");
  for (const WorkloadTask& one : task.workloads) {
    for (const std::string& distribution : one.distributions) {
      auto data = store.get(run_context.problem.workload(one.workload), distribution, task.seed);
      if (!data) return data.error();
      const auto bind = [&] {
        return store.with_room([&] { return reference.bind_twin(data.value(), *task.twin); });
      };
      if (auto failed = check_distribution(run_context, bind, records)) return failed;
    }
  }
  return std::nullopt;
}

}  // namespace ak::runtime
