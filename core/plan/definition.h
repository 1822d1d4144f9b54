// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/dtype.h"
#include "core/plan/expression.h"
#include "core/text/json.h"

namespace ak {

/// An axis of a definition: fixed (`value` set), derived from others (`derived` set) or varying with the workload.
struct Axis {
  std::string name;
  std::optional<std::int64_t> value;
  std::string description;
  std::optional<Expression> derived = {};  ///< over axes before it

  [[nodiscard]] bool varies() const { return !value && !derived; }
};

struct TensorSpec {
  std::string name;
  std::optional<std::vector<std::string>>
      shape;  ///< axis names; absent = a scalar argument, empty = 0-D tensor
  DType dtype = DType::float32;
  std::string description;
  std::vector<double> values = {};  ///< of a scalar argument: what it may be; one where it is constant
  bool zeroed = false;              ///< of an output: holds zeros before every call
  bool weight = false;              ///< of an input: a candidate may prepare it (docs/candidate.md#prepare)

  [[nodiscard]] bool is_scalar() const { return !shape.has_value(); }
};

/// One operation with fixed dtype and constants: a FlashInfer-Bench Definition, with keys of ours for what that format
/// lacks: derived axes, values of scalars, zeroed outputs and roles of inputs (docs/problem.md).
/// Order of axes, inputs and outputs is the order of the JSON and is part of the hash.
struct Definition {
  std::string name;
  std::string op_type;
  std::vector<Axis> axes;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::string reference;  ///< Python source with a top-level `run`
  std::vector<std::string> tags;
  std::string description;
  std::vector<std::string> constraints;

  [[nodiscard]] const TensorSpec* find_tensor(std::string_view tensor_name) const;
  /// SHA-256 of the compact JSON form.
  [[nodiscard]] std::string hash() const;
};

[[nodiscard]] Json to_json(const Definition& definition);
/// Reads and validates; errors name the field and what was expected.
[[nodiscard]] Result<Definition> definition_from_json(const Json& json);

using AxisValues = std::map<std::string, std::int64_t, std::less<>>;

/// "M=4096,N=1000": the sizes of a shape in the order of the definition's axes, which is the shape's name where it has no
/// other.
[[nodiscard]] std::string shape_name(const Definition& definition, const AxisValues& sizes);

/// Adds the sizes of fixed and derived axes to those of varying ones. A derived axis that has no value there, because
/// one of its axes is missing or for the numbers there are, is left out.
void add_axes(const Definition& definition, Environment& environment);

/// Extents of a tensor's axes under concrete axis values; empty for a 0-D tensor and for a scalar.
[[nodiscard]] std::vector<std::int64_t> tensor_extents(const Definition& definition, const TensorSpec& tensor,
                                                       const AxisValues& sizes);

/// Element count of a tensor under concrete axis values (1 for a 0-D tensor).
/// @param sizes holds every varying axis; the others come from the definition.
[[nodiscard]] std::int64_t element_count(const Definition& definition, const TensorSpec& tensor,
                                         const AxisValues& sizes);

}  // namespace ak
