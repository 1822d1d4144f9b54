// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/automatic_lesion.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/check/candidate_run.h"
#include "runtime/check/check.h"
#include "runtime/check/element_value.h"

namespace ak::runtime {
namespace {

using Bytes = std::vector<std::byte>;

/// An output with the honest twin's result in it, to be spoilt.
struct OutputArray {
  const Workbench& bench;
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
  const OpenProblem& problem = result.bench.problem;
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

struct Spoiler {
  std::string_view name;
  bool (*spoil)(OutputArray&);
};
constexpr std::array kSpoilers{Spoiler{"zeros", zeros}, Spoiler{"constant", constant},
                               Spoiler{"identity", identity}, Spoiler{"last_elements", last_elements},
                               Spoiler{"low_precision", low_precision}};
static_assert(std::ranges::equal(kSpoilers, kAutomaticLesions, {}, &Spoiler::name, &AutomaticLesion::name));

/// Stands where a candidate's kernels would: writes the spoilt results into its outputs.
class SpoiltResults final : public LibraryCall {
 public:
  SpoiltResults(const Workbench& bench, const DataSet& data, const Spoiler& spoiler) : name_(spoiler.name) {
    for (const ReferenceData& reference : data.references) {
      const TensorLayout& layout = bench.problem.tensors[reference.tensor];
      const auto twin = reference.twin.map();
      OutputArray result{.bench = bench,
                         .data = data,
                         .tensor = reference.tensor,
                         .dtype = layout.dtype,
                         .bytes = read_back({twin.address(), reference.twin.bytes()})};
      if (spoiler.spoil(result)) spoilt_.insert(layout.name);
      results_[layout.name] = std::move(result.bytes);
    }
  }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::set<std::string>& spoilt() const { return spoilt_; }
  [[nodiscard]] std::optional<Outcome> enqueue(const AddressTable& addresses,
                                               CUstream stream) const override {
    for (const auto& [tensor, bytes] : results_)
      check(driver().cuMemcpyHtoDAsync(addresses.at(tensor).address, bytes.data(), bytes.size(), stream),
            "writing a spoilt '{}'", tensor);
    return std::nullopt;
  }

 private:
  std::string name_;
  std::set<std::string> spoilt_;
  std::map<std::string, Bytes> results_;
};

std::optional<Outcome> check_one(Workbench& bench, std::shared_ptr<const DataSet> data,
                                 const Spoiler& spoiler, std::vector<CheckRecord>& records) {
  const SpoiltResults results(bench, *data, spoiler);
  if (results.spoilt().empty()) return std::nullopt;
  const auto run = CandidateRun::create(bench, std::move(data), results);
  if (!run) return run.error();
  if (auto failed = run->run(StageId::check)) return failed;
  std::vector<CheckRecord> all;
  static_cast<void>(compare_outputs(bench, run.value(), StageId::check, "", all));
  std::ranges::copy_if(all, std::back_inserter(records),
                       [&](const CheckRecord& record) { return results.spoilt().contains(record.tensor); });
  return std::nullopt;
}

}  // namespace

std::optional<Outcome> check_automatic_lesion(Workbench& bench, DataStore& store, const DeviceTask& task,
                                              std::vector<CheckRecord>& records) {
  const auto spoiler = std::ranges::find(kSpoilers, task.lesion, &Spoiler::name);
  AK_ASSERT(spoiler != kSpoilers.end(), "a device task names an automatic lesion");
  for (const WorkloadTask& one : task.workloads) {
    for (const std::string& distribution : one.distributions) {
      auto data = store.get(bench.problem.workload(one.workload), distribution, task.seed);
      if (!data) return data.error();
      if (auto failed = check_one(bench, data.value(), *spoiler, records)) return failed;
    }
  }
  return std::nullopt;
}

}  // namespace ak::runtime
