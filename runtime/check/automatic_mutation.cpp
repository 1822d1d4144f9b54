// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/automatic_mutation.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/check/candidate_run.h"
#include "runtime/check/check.h"
#include "runtime/check/element_value.h"

namespace ak::runtime {
namespace {

using Bytes = std::vector<std::byte>;

/// An output with the twin's result in it, to be corrupted.
struct OutputArray {
  const RunContext& run_context;
  const DataSet& data;
  std::size_t tensor;
  DType dtype;
  Bytes bytes;

  [[nodiscard]] std::int64_t count() const { return data.workload->elements(tensor); }
  [[nodiscard]] std::byte* at(std::int64_t index) { return bytes.data() + index * info(dtype).bytes; }
};

Bytes read_back(BufferView memory) {
  Bytes bytes(memory.bytes);
  check(driver().cuMemcpyDtoH(bytes.data(), memory.address, memory.bytes), "reading a tensor");
  return bytes;
}

// Each makes its mistake, or returns false where there is none to make.

bool zeros(OutputArray& result) {
  std::ranges::fill(result.bytes, std::byte{0});
  return true;
}

bool constant(OutputArray& result) {
  if (result.count() == 1) return false;  // the mean of one element is the answer
  double sum = 0;
  std::int64_t finite = 0;
  for (std::int64_t i = 0; i < result.count(); ++i) {
    const double value = element_value(result.at(i), result.dtype);
    if (!std::isfinite(value)) continue;
    sum += value;
    ++finite;
  }
  const double mean = finite > 0 ? sum / static_cast<double>(finite) : 0;
  for (std::int64_t i = 0; i < result.count(); ++i) set_element(result.at(i), result.dtype, mean);
  return true;
}

bool identity(OutputArray& result) {
  const OpenProblem& problem = result.run_context.problem;
  // Of the same size in all workloads: that one has as many rows as columns makes no copy of a reduction.
  const auto same_size = [&](const InputData& input) {
    return std::ranges::all_of(problem.workloads, [&](const WorkloadLayout& workload) {
      return workload.elements(input.tensor) == workload.elements(result.tensor);
    });
  };
  const auto input = std::ranges::find_if(result.data.inputs, same_size);
  if (input == result.data.inputs.end()) return false;
  const DType dtype = problem.tensors[input->tensor].dtype;
  const Bytes values = read_back(input->aliased ? input->pristine.view() : input->buffer.data());
  for (std::int64_t i = 0; i < result.count(); ++i)
    set_element(result.at(i), result.dtype, element_value(values.data() + i * info(dtype).bytes, dtype));
  return true;
}

bool last_elements(OutputArray& result) {
  constexpr std::int64_t kTail = 32;  // a warp's worth: the least that a kernel without a tail misses
  if (result.count() <= kTail) return false;
  std::fill(result.bytes.end() - kTail * info(result.dtype).bytes, result.bytes.end(), std::byte{0});
  return true;
}

/// Explicit bits of mantissa that are left of a type; nothing where no honest mistake has fewer.
std::optional<int> poorer_mantissa(DType dtype) {
  if (!info(dtype).floating || info(dtype).bytes == 1) return std::nullopt;
  if (info(dtype).bytes == 2) return 3;  // of e4m3
  return dtype == DType::float64 ? 23 : 7;
}

bool low_precision(OutputArray& result) {
  const auto bits = poorer_mantissa(result.dtype);
  if (!bits) return false;
  for (std::int64_t i = 0; i < result.count(); ++i) {
    int exponent = 0;
    const double fraction = std::frexp(element_value(result.at(i), result.dtype), &exponent);
    if (!std::isfinite(fraction)) continue;
    const double rounded = std::nearbyint(std::ldexp(fraction, *bits + 1));  // `fraction` is below 1
    set_element(result.at(i), result.dtype, std::ldexp(rounded, exponent - *bits - 1));
  }
  return true;
}

struct Corruption {
  std::string_view name;
  bool (*corrupt)(OutputArray&);
};
constexpr std::array kCorruptions{
    Corruption{"zeros", zeros}, Corruption{"constant", constant}, Corruption{"identity", identity},
    Corruption{"last_elements", last_elements}, Corruption{"low_precision", low_precision}};
static_assert(std::ranges::equal(kCorruptions, kAutomaticMutations, {}, &Corruption::name,
                                 &AutomaticMutation::name));

/// Takes the place of a candidate's kernels: writes the corrupted results into its outputs.
class CorruptedResults final : public LibraryCall {
 public:
  CorruptedResults(const RunContext& run_context, const DataSet& data, const Corruption& corruption)
      : name_(corruption.name) {
    for (const ReferenceData& reference : data.references) {
      const TensorLayout& layout = run_context.problem.tensors[reference.tensor];
      const auto twin = reference.twin.map();
      OutputArray result{.run_context = run_context,
                         .data = data,
                         .tensor = reference.tensor,
                         .dtype = layout.dtype,
                         .bytes = read_back({twin.address(), reference.twin.bytes()})};
      if (corruption.corrupt(result)) corrupted_.insert(layout.name);
      results_[layout.name] = std::move(result.bytes);
    }
  }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::set<std::string>& corrupted() const { return corrupted_; }
  [[nodiscard]] std::optional<Outcome> enqueue(const AddressTable& addresses,
                                               CUstream stream) const override {
    for (const auto& [tensor, bytes] : results_)
      check(driver().cuMemcpyHtoDAsync(addresses.at(tensor).address, bytes.data(), bytes.size(), stream),
            "writing a corrupted '{}'", tensor);
    return std::nullopt;
  }

 private:
  std::string name_;
  std::set<std::string> corrupted_;
  std::map<std::string, Bytes> results_;
};

std::optional<Outcome> check_one(RunContext& run_context, std::shared_ptr<const DataSet> data,
                                 const Corruption& corruption, std::vector<CheckRecord>& records) {
  const CorruptedResults results(run_context, *data, corruption);
  if (results.corrupted().empty()) return std::nullopt;
  const auto run = CandidateRun::create(run_context, std::move(data), results);
  if (!run) return run.error();
  if (auto failed = run->run(StageId::check)) return failed;
  std::vector<CheckRecord> all;
  static_cast<void>(compare_outputs(run_context, run.value(), StageId::check, "", all));
  std::ranges::copy_if(all, std::back_inserter(records), [&](const CheckRecord& record) {
    return results.corrupted().contains(record.tensor);
  });
  return std::nullopt;
}

}  // namespace

std::optional<Outcome> check_automatic_mutation(RunContext& run_context, DataStore& store,
                                                const DeviceTask& task, std::vector<CheckRecord>& records) {
  const auto corruption = std::ranges::find(kCorruptions, task.mutation, &Corruption::name);
  AK_ASSERT(corruption != kCorruptions.end(), "a device task names an automatic mutation");
  for (const WorkloadTask& one : task.workloads) {
    for (const std::string& distribution : one.distributions) {
      auto data = store.get(run_context.problem.workload(one.workload), distribution, task.seed);
      if (!data) return data.error();
      if (auto failed = check_one(run_context, data.value(), *corruption, records)) return failed;
    }
  }
  return std::nullopt;
}

}  // namespace ak::runtime
