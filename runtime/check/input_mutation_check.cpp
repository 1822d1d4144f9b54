// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/input_mutation_check.h"

#include <algorithm>
#include <limits>

#include "core/plan/input_mutation.h"
#include "runtime/check/candidate_run.h"
#include "runtime/check/check.h"

namespace ak::runtime {
namespace {

using InputBytes = std::vector<std::byte>;

/// Other contents of an input while it lives.
class ChangedInput {
 public:
  ChangedInput(RunContext& run_context, const InputData& input, const InputBytes& changed,
               const InputBytes& original)
      : run_context_(run_context), input_(input), original_(original) {
    check(write(changed), "changing an input");
  }
  ChangedInput(const ChangedInput&) = delete;
  ChangedInput& operator=(const ChangedInput&) = delete;
  // A device that is lost here is found so by the next call.
  ~ChangedInput() { static_cast<void>(write(original_)); }

 private:
  [[nodiscard]] CUresult write(const InputBytes& bytes) const {
    CUresult result = copy(input_.buffer.data().address, bytes);
    if (result == CUDA_SUCCESS && input_.aliased) result = copy(input_.pristine.address(), bytes);
    return result == CUDA_SUCCESS ? driver().cuStreamSynchronize(run_context_.stream) : result;
  }
  [[nodiscard]] CUresult copy(CUdeviceptr to, const InputBytes& bytes) const {
    return driver().cuMemcpyHtoDAsync(to, bytes.data(), bytes.size(), run_context_.stream);
  }

  RunContext& run_context_;
  const InputData& input_;
  const InputBytes& original_;
};

InputBytes contents(const InputData& input) {
  InputBytes bytes(input.buffer.data().bytes);
  const CUdeviceptr from = input.aliased ? input.pristine.address() : input.buffer.data().address;
  check(driver().cuMemcpyDtoH(bytes.data(), from, bytes.size()), "reading an input");
  return bytes;
}

/// An access that only the changed contents lead to: no result, which every check notices.
CheckRecord without_result(const DataSet& data) {
  return {.workload = data.workload->name,
          .distribution = data.distribution,
          .seed = data.seed,
          .tensor = {},
          .passed = false,
          .max_error = std::numeric_limits<double>::infinity()};
}

/// Another of the scalar's values; nothing where it has one alone.
std::optional<double> other_value(const DataSet& data, const std::string& scalar, std::size_t index) {
  const auto& all = data.workload->distributions;
  const auto inputs = std::ranges::find(all, data.distribution, &DrawnInputs::name);
  AK_ASSERT(inputs != all.end(), "a data set is of a distribution of its workload");
  const ak_random::Draw& draw = inputs->draws.at(index);
  const double* const end = draw.choices + draw.choice_count;
  const double* const other =
      std::find_if(draw.choices, end, [&](double value) { return value != data.scalars.at(scalar); });
  return other == end ? std::nullopt : std::optional(*other);
}

std::optional<Outcome> check_changed_scalar(RunContext& run_context,
                                            const std::shared_ptr<const DataSet>& data, Reference& reference,
                                            std::size_t tensor, std::vector<CheckRecord>& records) {
  const std::string& name = run_context.problem.tensors[tensor].name;
  const auto other = other_value(*data, name, tensor);
  if (!other) return std::nullopt;
  ScalarValues scalars = data->scalars;
  scalars[name] = *other;
  const auto run = reference.bind_twin(data, "", &scalars);
  if (!run) return run.error();
  if (auto failed = run->run(StageId::check)) {
    if (reference.lost()) return failed;
    records.push_back(without_result(*data));
  } else {
    static_cast<void>(compare_outputs(run_context, run.value(), StageId::check, "", records));
  }
  return std::nullopt;
}

std::optional<Outcome> check_changed_input(RunContext& run_context,
                                           const std::shared_ptr<const DataSet>& data, Reference& reference,
                                           const InputMutation& mutation, const InputData& input,
                                           std::vector<CheckRecord>& records) {
  const std::vector<std::int64_t>& shape = data->workload->shapes[input.tensor];
  const InputBytes original = contents(input);
  InputBytes changed = original;
  const bool any = clear_part(mutation, run_context.problem.tensors[input.tensor].dtype,
                              shape.empty() ? 1 : shape.front(), changed);
  if (!any) return std::nullopt;
  const auto run = reference.bind_twin(data, "");
  if (!run) return run.error();
  {  // Indices are judged by what they select from the original contents.
    const ChangedInput scope(run_context, input, changed, original);
    if (auto failed = run->run(StageId::check)) {
      if (reference.lost()) return failed;
      records.push_back(without_result(*data));
      return std::nullopt;
    }
  }
  static_cast<void>(compare_outputs(run_context, run.value(), StageId::check, "", records));
  return std::nullopt;
}

std::optional<Outcome> check_changed(RunContext& run_context, const std::shared_ptr<const DataSet>& data,
                                     Reference& reference, const InputMutation& mutation, std::size_t tensor,
                                     std::vector<CheckRecord>& records) {
  if (run_context.problem.tensors[tensor].scalar)
    return check_changed_scalar(run_context, data, reference, tensor, records);
  const auto input = std::ranges::find(data->inputs, tensor, &InputData::tensor);
  AK_ASSERT(input != data->inputs.end(), "every input that is no scalar has data");
  return check_changed_input(run_context, data, reference, mutation, *input, records);
}

}  // namespace

std::optional<Outcome> check_input_mutation(RunContext& run_context, DataStore& store, Reference& reference,
                                            const DeviceTask& task, std::vector<CheckRecord>& records) {
  const auto& tensors = run_context.problem.tensors;
  const auto tensor = std::ranges::find(tensors, task.mutated_input, &TensorLayout::name);
  AK_ASSERT(tensor != tensors.end(), "a device task names an input of its problem");
  const auto mutations = tensor->scalar ? scalar_mutations() : input_mutations(tensor->dtype);
  const auto mutation = std::ranges::find(mutations, task.mutation, &InputMutation::name);
  AK_ASSERT(mutation != mutations.end(), "a device task names a mutation that the input's dtype can have");
  const auto index = static_cast<std::size_t>(tensor - tensors.begin());
  for (const WorkloadTask& one : task.workloads) {
    for (const std::string& distribution : one.distributions) {
      auto data = store.get(run_context.problem.workload(one.workload), distribution, task.seed);
      if (!data) return data.error();
      if (auto failed = check_changed(run_context, data.value(), reference, *mutation, index, records))
        return failed;
      if (!std::ranges::all_of(records, &CheckRecord::passed)) return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace ak::runtime
