// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/output_comparison.h"

#include <algorithm>
#include <array>
#include <limits>

#include "runtime/check/element_value.h"

namespace ak::runtime {
namespace {

/// Elements that lie on the device.
struct Values {
  CUdeviceptr address = 0;
  DType dtype = DType::float64;
};

double value_at(const Values& values, std::int64_t index) {
  std::array<std::byte, 8> bytes{};
  const auto size = static_cast<std::size_t>(info(values.dtype).bytes);
  check(driver().cuMemcpyDtoH(bytes.data(), values.address + static_cast<std::size_t>(index) * size, size),
        "reading element {}", index);
  return element_value(bytes.data(), values.dtype);
}

/// The reference while it may be read.
class MappedReference {
 public:
  explicit MappedReference(const ReferenceData& reference)
      : reference_(reference), exact_(reference.exact.map()), twin_(reference.twin.map()) {
    if (reference.row_rms.bytes() > 0) row_rms_.emplace(reference.row_rms.map());
  }

  [[nodiscard]] CUdeviceptr exact() const { return exact_.address(); }
  [[nodiscard]] CUdeviceptr twin() const { return twin_.address(); }
  [[nodiscard]] ErrorScale scale(const Rows& rows) const {
    return {.rms = reference_.rms,
            .row_rms = row_rms_ ? row_rms_->address() : 0,
            .row = static_cast<std::uint64_t>(rows.length)};
  }

 private:
  const ReferenceData& reference_;
  HiddenBuffer::Mapping exact_, twin_;
  std::optional<HiddenBuffer::Mapping> row_rms_;
};

/// What an output is judged by where it is not its elements: doubles, in memory that is mapped no longer than
/// this lives, as it may hold the answer.
class OutputView {
 public:
  OutputView(const RunContext& run_context, const DataSet& data, std::size_t tensor, const Values& values)
      : bytes_(static_cast<std::size_t>(data.workload->elements(tensor)) * sizeof(double)),
        rows_(rows_of(data.workload->shapes[tensor])) {
    const OutputRule rule = run_context.problem.tolerance.rule(run_context.problem.tensors[tensor].name);
    if (rule.gather.empty()) {
      run_context.kernels.widen(values.address, values.dtype, data.workload->elements(tensor), next());
    } else {
      select(run_context, data, rule.gather, values);
    }
    if (!rule.set) return;
    const CUdeviceptr unordered = address_;
    run_context.kernels.sort_rows(unordered, rows_, next());
  }

  [[nodiscard]] CUdeviceptr address() const { return address_; }

 private:
  CUdeviceptr next() {
    auto& [buffer, mapping] = parts_[used_++];
    buffer = HiddenBuffer(bytes_, "a view of an output");
    mapping.emplace(buffer.map());
    return address_ = mapping->address();
  }
  void select(const RunContext& run_context, const DataSet& data, const std::string& source,
              const Values& indices) {
    const auto input = std::ranges::find_if(data.inputs, [&](const InputData& each) {
      return run_context.problem.tensors[each.tensor].name == source;
    });
    AK_ASSERT(input != data.inputs.end(), "a rule names an input that its problem has");
    const CUdeviceptr address = input->aliased ? input->pristine.address() : input->buffer.data().address;
    run_context.kernels.gather(indices.address, indices.dtype, rows_, address,
                               run_context.problem.tensors[input->tensor].dtype,
                               rows_of(data.workload->shapes[input->tensor]).length, next());
  }

  struct Part {
    HiddenBuffer buffer;
    std::optional<HiddenBuffer::Mapping> mapping;
  };
  std::size_t bytes_;
  Rows rows_;
  std::array<Part, 2> parts_;
  std::size_t used_ = 0;
  CUdeviceptr address_ = 0;
};

class OutputReader {
 public:
  OutputReader(const RunContext& run_context, const DataSet& data, const ReferenceData& reference,
               const ErrorLimits& limits)
      : run_context_(run_context),
        data_(data),
        tensor_(reference.tensor),
        layout_(run_context.problem.tensors[reference.tensor]),
        limits_(limits),
        mapped_(reference) {}

  [[nodiscard]] ComparedOutput compare(std::optional<CUdeviceptr> got_or_twin) const {
    const Values got{got_or_twin.value_or(mapped_.twin()), layout_.dtype};
    const Values twin{mapped_.twin(), layout_.dtype};
    const Values exact{mapped_.exact(), info(layout_.dtype).floating ? DType::float64 : DType::int64};
    if (!run_context_.problem.tolerance.rule(layout_.name).has_view()) return compare(got, exact, twin);
    const OutputView got_view(run_context_, data_, tensor_, got);
    const OutputView exact_view(run_context_, data_, tensor_, exact);
    const OutputView twin_view(run_context_, data_, tensor_, twin);
    ComparedOutput compared = compare({got_view.address()}, {exact_view.address()}, {twin_view.address()});
    const Comparison written = compare(got, exact, twin).comparison;
    compared.comparison.unwritten = written.unwritten;
    compared.comparison.first_unwritten = written.first_unwritten;
    return compared;
  }

 private:
  [[nodiscard]] ComparedOutput compare(const Values& got, const Values& exact, const Values& twin) const {
    ComparedOutput compared;
    compared.comparison =
        run_context_.kernels.compare({.dtype = got.dtype,
                                      .got = got.address,
                                      .expected = exact.address,
                                      .twin = twin.address,
                                      .count = data_.workload->elements(tensor_),
                                      .scale = mapped_.scale(rows_of(data_.workload->shapes[tensor_])),
                                      .limits = limits_});
    const std::int64_t index = compared.index();
    if (index < 0) return compared;
    compared.got = value_at(got, index);
    // Where the twin overflows on purpose (infinity in half precision), it is the twin that must be matched.
    compared.expected = value_at(compared.comparison.nonfinite > 0 ? twin : exact, index);
    return compared;
  }

  const RunContext& run_context_;
  const DataSet& data_;
  std::size_t tensor_;
  const TensorLayout& layout_;
  ErrorLimits limits_;
  MappedReference mapped_;
};

/// Of what is selected by indices or of integers in any order: the same values, and all of them.
ErrorBounds equality(std::int64_t count) {
  return {.rms = 0, .element = 0, .far = 0, .strays = 0, .unequal = count};
}

}  // namespace

ComparedOutput compare_output(const RunContext& run_context, const DataSet& data,
                              const ReferenceData& reference, std::optional<CUdeviceptr> got,
                              const ErrorLimits& limits) {
  return OutputReader(run_context, data, reference, limits).compare(got);
}

ErrorBounds bounds_of(const RunContext& run_context, const DataSet& data, const ReferenceData& reference,
                      const Comparison& twin) {
  const TensorLayout& layout = run_context.problem.tensors[reference.tensor];
  const Tolerance& tolerance = run_context.problem.tolerance;
  const OutputRule rule = tolerance.rule(layout.name);
  const bool floating = info(layout.dtype).floating;
  if (rule.has_view() && !(floating && rule.gather.empty())) return equality(twin.count);
  RoundingError rounding;
  if (floating) {
    const MappedReference mapped(reference);
    rounding = run_context.kernels.rounding_error(
        mapped.exact(), twin.count, mapped.scale(rows_of(data.workload->shapes[reference.tensor])),
        info(tolerance.working_type(layout.dtype)).unit_roundoff);
  }
  return error_bounds(tolerance, rule, layout.dtype, data.distribution, twin, rounding);
}

}  // namespace ak::runtime
