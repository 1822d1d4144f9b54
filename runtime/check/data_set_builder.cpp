// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/data_set_builder.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "core/plan/random_input.h"
#include "runtime/check/output_comparison.h"
#include "runtime/reference/reference_fault.h"

namespace ak::runtime {
namespace {

bool is_aliased(const OpenProblem& problem, const std::string& input) {
  return std::any_of(problem.tensors.begin(), problem.tensors.end(),
                     [&](const TensorLayout& t) { return t.alias_of == input; });
}

std::size_t exact_bytes(const WorkloadLayout& workload, std::size_t tensor) {
  return static_cast<std::size_t>(workload.elements(tensor)) * 8;
}

/// Whether an element says nothing of others, nor of where in the tensor it is.
bool draws_elements_alone(InputKind kind) {
  static constexpr InputKind kAlone[] = {InputKind::normal,   InputKind::uniform,  InputKind::small_integer,
                                         InputKind::zero_one, InputKind::outliers, InputKind::cauchy,
                                         InputKind::constant, InputKind::choices,  InputKind::integers};
  return std::ranges::find(kAlone, kind) != std::end(kAlone);
}

}  // namespace

BufferView piece_of(BufferView tensor, DType dtype, std::int64_t count, std::size_t piece) {
  const auto elements = static_cast<std::size_t>(count), size = static_cast<std::size_t>(info(dtype).bytes);
  const std::size_t first = elements * piece / kPieces, end = elements * (piece + 1) / kPieces;
  return {tensor.address + first * size, (end - first) * size};
}

DataSetBuilder::DataSetBuilder(RunContext& run_context, Reference& reference, const WorkloadLayout& workload,
                               const DrawnInputs& inputs)
    : run_context_(run_context), reference_(reference), drawn_(inputs), set_(std::make_shared<DataSet>()) {
  set_->workload = &workload;
  set_->distribution = inputs.name;
  for (std::size_t i = 0; i < run_context_.problem.tensors.size(); ++i) {
    const TensorLayout& layout = run_context_.problem.tensors[i];
    if (!layout.scalar) layout.output ? add_reference(i) : add_input(i);
  }
}

void DataSetBuilder::add_input(std::size_t tensor) {
  const TensorLayout& layout = run_context_.problem.tensors[tensor];
  const std::size_t bytes = run_context_.tensor_bytes(*set_->workload, tensor);
  InputData input{
      .tensor = tensor,
      .buffer = GuardedBuffer(bytes, run_context_.random_shift(), fmt::format("input '{}'", layout.name)),
      .pristine = {},
      .aliased = is_aliased(run_context_.problem, layout.name),
      .hash = 0};
  input.buffer.arm_guards(run_context_.stream);
  if (run_context_.inspector != nullptr)
    run_context_.inspector->name_region(input.buffer.data(), fmt::format("input '{}'", layout.name),
                                        !input.aliased);
  if (input.aliased) input.pristine = DeviceBuffer(bytes, fmt::format("a copy of input '{}'", layout.name));
  set_->bytes += input.buffer.whole_bytes() + (input.aliased ? bytes : 0);
  set_->inputs.push_back(std::move(input));
}

void DataSetBuilder::fill(std::uint64_t seed) {
  set_->seed = seed;
  draw_scalars(seed);
  draw_given(seed, Part::all);
  for (const InputData& input : set_->inputs) {
    const TensorLayout& layout = run_context_.problem.tensors[input.tensor];
    const BufferView data = input.buffer.data();
    const ak_random::Draw& draw = drawn_.draws.at(input.tensor);
    if (draw.kind != InputKind::given)
      run_context_.kernels.fill(data, layout.dtype, tensor_key(seed, layout.name), draw);
    note_contents(data);
    if (!input.aliased) continue;
    check(driver().cuMemcpyDtoDAsync(input.pristine.address(), data.address, data.bytes, run_context_.stream),
          "copying an input");
  }
}

void DataSetBuilder::put(std::size_t input, std::string_view bytes) {
  const InputData& taken = set_->inputs.at(input);
  const BufferView data = taken.buffer.data();
  if (bytes.size() != data.bytes)
    fail(ExitCode::bad_input, "input '{}' of workload {}: expected {} bytes, got {}", name_of(taken.tensor),
         set_->workload->name, data.bytes, bytes.size());
  const auto write = [&](CUdeviceptr to) {
    check(driver().cuMemcpyHtoDAsync(to, bytes.data(), bytes.size(), run_context_.stream),
          "writing an input");
  };
  write(data.address);
  if (taken.aliased) write(taken.pristine.address());
  note_contents(data);
  run_context_.synchronize("the writing of an input");  // `bytes` are the caller's
}

void DataSetBuilder::draw_scalars(std::uint64_t seed) {
  for (std::size_t i = 0; i < drawn_.draws.size(); ++i) {
    const TensorLayout& layout = run_context_.problem.tensors[i];
    if (layout.scalar)
      set_->scalars[layout.name] = random_scalar(tensor_key(seed, layout.name), drawn_.draws[i]);
  }
}

void DataSetBuilder::fill_piece(std::size_t piece, std::uint64_t seed) {
  if (piece == 0) draw_given(seed, Part::activations);
  for (const InputData& input : set_->inputs) {
    if (is_of(Part::weights, input)) continue;
    const TensorLayout& layout = run_context_.problem.tensors[input.tensor];
    ak_random::Draw draw = drawn_.draws.at(input.tensor);
    if (draw.kind == InputKind::given) continue;
    BufferView part = input.buffer.data();
    if (draws_elements_alone(draw.kind)) {
      part = piece_of(part, layout.dtype, draw.count, piece);
      draw.count = static_cast<std::int64_t>(part.bytes) / info(layout.dtype).bytes;
    } else if (piece != 0) {
      continue;
    }
    if (part.bytes == 0) continue;
    run_context_.kernels.fill(part, layout.dtype, tensor_key(seed, layout.name), draw);
    note_contents(part);
  }
}

bool DataSetBuilder::is_of(Part part, const InputData& input) const {
  return part == Part::all || run_context_.problem.tensors[input.tensor].weight == (part == Part::weights);
}

void DataSetBuilder::blank_activations() {
  for (const InputData& input : set_->inputs) {
    if (is_of(Part::activations, input))
      run_context_.poison(input.buffer.data(), run_context_.problem.tensors[input.tensor].dtype);
  }
}

void DataSetBuilder::fill_weights(std::uint64_t seed) {
  draw_scalars(seed);
  draw_given(seed, Part::weights);
  for (const InputData& input : set_->inputs) {
    const TensorLayout& layout = run_context_.problem.tensors[input.tensor];
    const ak_random::Draw& draw = drawn_.draws.at(input.tensor);
    if (!is_of(Part::weights, input) || draw.kind == InputKind::given) continue;
    run_context_.kernels.fill(input.buffer.data(), layout.dtype, tensor_key(seed, layout.name), draw);
    note_contents(input.buffer.data());
  }
}

/// Those inputs that the reference has a generator for.
void DataSetBuilder::draw_given(std::uint64_t seed, Part part) {
  not_drawn_.reset();
  AddressTable given;
  for (const InputData& input : set_->inputs) {
    if (is_of(part, input) && drawn_.draws.at(input.tensor).kind == InputKind::given)
      given[name_of(input.tensor)] = input.buffer.data();
  }
  if (given.empty()) return;
  not_drawn_ = reference_.draw(*set_->workload, seed, given);
  for (const auto& [name, data] : given) note_contents(data);
}

void DataSetBuilder::note_contents(BufferView part) {
  if (run_context_.inspector != nullptr) run_context_.inspector->mark_contents(part, true);
}

/// One number for what all inputs hold.
std::uint64_t DataSetBuilder::hash_inputs() {
  std::uint64_t all = 0;
  // A number of no further meaning between the two, as in boost::hash_combine: the golden ratio's bits.
  const auto add = [&](std::uint64_t one) { all ^= one + 0x9E3779B97F4A7C15ull + (all << 6) + (all >> 2); };
  for (InputData& input : set_->inputs) {
    input.hash = run_context_.kernels.hash(input.buffer.data());
    add(input.hash);
  }
  for (const auto& [name, value] : set_->scalars) add(std::bit_cast<std::uint64_t>(value));
  return all;
}

std::optional<Outcome> DataSetBuilder::compute_references() {
  if (not_drawn_) return not_drawn_;
  const std::uint64_t contents = hash_inputs();
  for (const ReferencePart part : {ReferencePart::exact, ReferencePart::twin})
    if (auto failed = compute(part, contents)) return failed;
  return std::nullopt;
}

std::optional<Outcome> DataSetBuilder::make_references(const std::vector<TypicalResult>& typical) {
  if (auto failed = compute_references()) return failed;
  for (std::size_t i = 0; i < set_->references.size(); ++i) {
    const TypicalResult& of_output = typical.empty() ? TypicalResult{} : typical.at(i);
    if (auto failed = derive_bounds(set_->references[i], of_output)) return failed;
  }
  return std::nullopt;
}

void DataSetBuilder::add_reference(std::size_t tensor) {
  const std::string& name = run_context_.problem.tensors[tensor].name;
  ReferenceData reference{
      .tensor = tensor,
      .exact = HiddenBuffer(exact_bytes(*set_->workload, tensor), fmt::format("the reference of '{}'", name)),
      .twin = HiddenBuffer(run_context_.tensor_bytes(*set_->workload, tensor),
                           fmt::format("the twin of '{}'", name)),
      .row_rms = {},
      .bounds = {}};
  if (run_context_.problem.tolerance.rule(name).per_row) {
    const Rows rows = rows_of(set_->workload->shapes[tensor]);
    reference.row_rms = HiddenBuffer(static_cast<std::size_t>(rows.count) * sizeof(double),
                                     fmt::format("the scales of the rows of '{}'", name));
  }
  set_->bytes +=
      reference.exact.reserved_bytes() + reference.twin.reserved_bytes() + reference.row_rms.reserved_bytes();
  set_->references.push_back(std::move(reference));
}

std::optional<Outcome> DataSetBuilder::compute(ReferencePart part, std::uint64_t contents) {
  AddressTable tensors;
  for (const InputData& input : set_->inputs) tensors[name_of(input.tensor)] = input.buffer.data();
  std::vector<HiddenBuffer::Mapping> mappings;
  for (const ReferenceData& reference : set_->references) {
    const HiddenBuffer& buffer = part == ReferencePart::exact ? reference.exact : reference.twin;
    mappings.push_back(buffer.map());
    const TensorLayout& layout = run_context_.problem.tensors[reference.tensor];
    BufferView& output = tensors[layout.name];
    output = {mappings.back().address(), buffer.bytes()};
    layout.zeroed ? run_context_.zero(output) : run_context_.poison(output, layout.dtype);
  }
  const auto cost = reference_.compute(part, *set_->workload, tensors, set_->scalars, contents);
  if (!cost) return cost.error();
  set_->reference_ms = std::max(set_->reference_ms, cost->ms);
  set_->reference_instructions = std::max(set_->reference_instructions, cost->instructions);
  return std::nullopt;
}

void DataSetBuilder::measure(ReferenceData& reference) {
  const bool floating = info(run_context_.problem.tensors[reference.tensor].dtype).floating;
  const auto exact = reference.exact.map();
  reference.rms =
      run_context_.kernels.rms(exact.address(), floating, set_->workload->elements(reference.tensor));
  if (reference.row_rms.bytes() == 0) return;
  const auto row_rms = reference.row_rms.map();
  run_context_.kernels.row_rms(exact.address(), floating, rows_of(set_->workload->shapes[reference.tensor]),
                               row_rms.address());
  run_context_.synchronize("the measuring of rows");
}

std::optional<Outcome> DataSetBuilder::derive_bounds(ReferenceData& reference, const TypicalResult& typical) {
  const TensorLayout& layout = run_context_.problem.tensors[reference.tensor];
  measure(reference);
  reference.rms = std::max(reference.rms, typical.rms);
  const ErrorLimits no_limits{.element = 1e300, .far = 1e300};
  Comparison own = compare_output(run_context_, *set_, reference, std::nullopt, no_limits).comparison;
  const std::string where = fmt::format("{} on workload {}, distribution {}", layout.name,
                                        set_->workload->name, set_->distribution);
  if (own.unwritten > 0 && info(layout.dtype).floating) {
    return reference_fault(
        fmt::format("the reference never writes element {} of {}", own.first_unwritten, where));
  }
  own.rms_error = std::max(own.rms_error, typical.rms_error);
  own.max_error = std::max(own.max_error, typical.max_error);
  reference.bounds = bounds_of(run_context_, *set_, reference, own);
  const std::int64_t allowed = info(layout.dtype).floating ? 0 : reference.bounds.strays;
  if (own.wrong > allowed || own.far > 0) {
    return reference_fault(
        fmt::format("exact reference and low-precision twin disagree in {} elements of {}, worst at index {}",
                    own.wrong, where, own.worst));
  }
  if (own.unequal > reference.bounds.unequal) {
    return reference_fault(fmt::format(
        "the low-precision twin is not the exact result, rounded once, in {} elements of {}; the problem's "
        "tolerance allows {}",
        own.unequal, where, reference.bounds.unequal));
  }
  return std::nullopt;
}

std::size_t data_set_bytes(const RunContext& run_context, const WorkloadLayout& workload) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < run_context.problem.tensors.size(); ++i) {
    if (run_context.problem.tensors[i].scalar) continue;
    bytes += run_context.tensor_bytes(workload, i) +
             (run_context.problem.tensors[i].output ? exact_bytes(workload, i) : 0);
  }
  return bytes;
}

}  // namespace ak::runtime
