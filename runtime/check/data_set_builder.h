// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "runtime/check/data_set.h"
#include "runtime/reference/reference.h"

namespace ak::runtime {

/// Parts of a tensor that can be drawn again on their own.
inline constexpr std::size_t kPieces = 64;
/// One of the parts of a tensor of `count` elements, all of which are about as large; of a small tensor some are empty.
[[nodiscard]] BufferView piece_of(BufferView tensor, DType dtype, std::int64_t count, std::size_t piece);

/// Makes one data set: memory once, contents and references as often as wanted. One thread. What it is made
/// with must outlive it. Throws CudaError, also when memory runs out.
class DataSetBuilder {
 public:
  DataSetBuilder(RunContext& run_context, Reference& reference, const WorkloadLayout& workload,
                 const DrawnInputs& inputs);

  /// Draws the inputs of `seed` into the memory there is. What references say is of no use until the
  /// next make_references(), which also says what the reference could not draw. Asynchronous.
  void fill(std::uint64_t seed);
  /// Overwrites every input but weights: until the next fill() with the same seed there is nothing else to read.
  /// Asynchronous.
  void blank_activations();
  /// Draws what stays from call to call, the weights and the scalars, for fill_piece() to complete. Asynchronous.
  void fill_weights(std::uint64_t seed);
  /// Draws a piece of every input but weights and scalars. One whose elements depend on each other or
  /// on their places (a permutation, offsets) is all of piece 0. Those of aliased inputs have no copy to be restored
  /// from. Asynchronous.
  void fill_piece(std::size_t piece, std::uint64_t seed);
  /// Replaces what fill() drew for input `input` (a place in data()->inputs) by contents of the caller's. Throws
  /// Error(bad_input) where `bytes` is not as long as the input.
  void put(std::size_t input, std::string_view bytes);
  /// Hashes the inputs and computes both parts of the reference on them; an input that a candidate may
  /// overwrite must hold what fill() left. Errors: invalid_reference, unsupported.
  [[nodiscard]] std::optional<Outcome> compute_references();
  /// The same, and what results must stay within. @param typical of each reference, where its output has few elements
  [[nodiscard]] std::optional<Outcome> make_references(const std::vector<TypicalResult>& typical);

  /// Changes with every fill() and make_references().
  [[nodiscard]] std::shared_ptr<const DataSet> data() const { return set_; }

 private:
  void add_input(std::size_t tensor);
  void add_reference(std::size_t tensor);
  void draw_scalars(std::uint64_t seed);
  enum class Part : std::uint8_t { all, weights, activations };
  [[nodiscard]] bool is_of(Part part, const InputData& input) const;
  void draw_given(std::uint64_t seed, Part part);
  void note_contents(BufferView part);
  [[nodiscard]] std::uint64_t hash_inputs();
  [[nodiscard]] std::optional<Outcome> compute(ReferencePart part, std::uint64_t contents);
  void measure(ReferenceData& reference);
  [[nodiscard]] std::optional<Outcome> derive_bounds(ReferenceData& reference, const TypicalResult& typical);
  [[nodiscard]] const std::string& name_of(std::size_t tensor) const {
    return run_context_.problem.tensors[tensor].name;
  }

  RunContext& run_context_;
  Reference& reference_;
  std::optional<Outcome> not_drawn_;  ///< why the inputs of the last fill are not what they should be
  const DrawnInputs& drawn_;
  std::shared_ptr<DataSet> set_;
};

/// Device memory that the tensors and references of a workload take.
[[nodiscard]] std::size_t data_set_bytes(const RunContext& run_context, const WorkloadLayout& workload);

}  // namespace ak::runtime
