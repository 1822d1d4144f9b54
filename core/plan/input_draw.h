// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/dtype.h"
#include "core/plan/expression.h"
#include "core/plan/random_values.cuh"

namespace ak {

/// How the values of an input are drawn (docs/problem.md, Distributions). Implemented once for host
/// and device: core/plan/random_values.cuh.
using InputKind = ak_random::Kind;
[[nodiscard]] std::string_view to_string(InputKind kind);
[[nodiscard]] std::optional<InputKind> parse_input_kind(std::string_view text);
/// "normal, uniform, ...": what a problem may name.
[[nodiscard]] std::string input_kind_names();

/// One tensor's values, for all workloads.
struct InputDraw {
  InputKind kind = InputKind::normal;
  float scale = 1;
  float shift = 0;
  std::vector<double> choices = {};     ///< of `constant` and `choices`
  std::vector<Expression> bounds = {};  ///< low and high over axes and params; none: what the dtype has
  bool over_tensor = false;             ///< `permutation`: distinct over the whole tensor, not row by row
  std::optional<Expression> bound =
      {};  ///< of sparse matrices: `row_pointers` the width, `row_columns` the rows
};

/// What is drawn, in words: "normal, one element in 256 raised by 20, times 64".
[[nodiscard]] std::string in_words(const InputDraw& draw);

/// Reads what a problem writes for a draw: a kind, perhaps with arguments: "normal(scale=64, shift=1)",
/// "integers(0, V - 1)", "index(V)", "constant(0)", "choices(0, 0.5)". Errors name the argument and what was
/// expected, or list the known kinds.
[[nodiscard]] Result<InputDraw> parse_input_draw(std::string_view text);

/// The draw of one tensor of a workload; of a packed type each of the values is drawn. Integer tensors whose draw says
/// nothing of integers take [-8, 8], whose sums and products stay within every type; unsigned ones their whole range,
/// bool both values.
/// @param shape of the tensor; `environment` has axes and params. Errors: a bound that has no value, an empty
/// range or one that the dtype does not hold.
[[nodiscard]] Result<ak_random::Draw> resolve_draw(const InputDraw& draw, DType dtype,
                                                   const std::vector<std::int64_t>& shape,
                                                   const Environment& environment);

/// True of kinds whose values say where parts begin, and the last ends.
[[nodiscard]] bool draws_offsets(InputKind kind);

/// True where an integer tensor's range is what the dtype has, as no one states one.
[[nodiscard]] bool says_nothing_of_integers(const InputDraw& draw);

}  // namespace ak
