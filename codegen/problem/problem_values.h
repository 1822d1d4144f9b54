// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/problem.h"
#include "core/text/json_reader.h"

namespace ak::codegen {

// Values in problem.json that may be expressions. All throw JsonInputError naming the field.

[[nodiscard]] Environment environment_of(const Params& params);
/// An expression, or an integer.
[[nodiscard]] Expression read_formula(const JsonReader& at);
/// An expression in which the params have their values: what is left are names of axes. Throws for other names.
/// @param axes that it may name
[[nodiscard]] Expression read_axis_formula(const JsonReader& at, const Params& params,
                                           const std::vector<Axis>& axes);
/// Whether a condition over the params holds.
[[nodiscard]] bool holds(const JsonReader& at, const Params& params);
/// A dtype, the name of a param that holds one, or an expression over the params.
[[nodiscard]] DType read_dtype(const JsonReader& at, const Params& params);
/// A number, or an expression over the params: what is honest differs with the dtype.
[[nodiscard]] double read_number(const JsonReader& at, const Params& params);
/// Values of an axis of held-out shapes (docs/problem.md#workloadsjsonl).
[[nodiscard]] AxisRange read_axis_range(const JsonReader& at);

}  // namespace ak::codegen
