// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/dtype.h"

namespace ak {

/// A part of an input that a candidate might not look at. The audit clears it in the inputs of the twin and asks
/// whether the checks of the results would notice (docs/checking.md, Audit).
enum class IgnoredPart : std::uint8_t { input, last_row, sign, byte, nibble_bits };

struct InputMutation {
  std::string name;  ///< of findings, and of exemptions in a problem
  std::string what;
  IgnoredPart part = IgnoredPart::input;
  int index = 0;           ///< of the byte or nibble, the least significant is 0
  bool essential = false;  ///< an input of which nobody sees this is no input: no effect is a hole
};

/// Those that an input of `dtype` can have.
[[nodiscard]] std::vector<InputMutation> input_mutations(DType dtype);
/// Those that a scalar by value can have: its value, not its bytes, is what is ignored.
[[nodiscard]] std::vector<InputMutation> scalar_mutations();
/// Of a tensor of any dtype, or of a scalar.
[[nodiscard]] bool is_input_mutation(std::string_view name);

/// Clears the part in `bytes`, a row-major tensor whose first axis has `rows` lines. False where nothing changed.
[[nodiscard]] bool clear_part(const InputMutation& mutation, DType dtype, std::int64_t rows,
                              std::span<std::byte> bytes);

}  // namespace ak
