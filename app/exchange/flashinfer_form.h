// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/definition.h"

namespace ak::app {

// What FlashInfer-Bench's format lacks, in its words (docs/exchange.md). `definition` is as the database has it.

/// The definition: derived axes vary, with a constraint that says what they are; values of scalars and initial contents
/// are left out; packed types are int8, and scalars of
/// float64 float32, which that format has.
[[nodiscard]] Json flashinfer_definition(const Json& definition);

/// A workload's axes, derived ones included.
[[nodiscard]] AxisValues flashinfer_axes(const Json& definition, const AxisValues& axes);

/// Where an input comes from: random, or the (first) value of a scalar.
[[nodiscard]] Json flashinfer_input(const Json& input);

}  // namespace ak::app
