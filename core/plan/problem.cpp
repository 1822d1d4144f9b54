// SPDX-License-Identifier: Apache-2.0
#include "core/plan/problem.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace ak {
namespace {

struct InputKindName {
  InputKind kind;
  std::string_view name;  ///< written in problem.json and stored with every check; never renamed
};
constexpr std::array kInputKinds{InputKindName{InputKind::normal, "normal"},
                                 InputKindName{InputKind::uniform, "uniform"},
                                 InputKindName{InputKind::small_integer, "small_integer"},
                                 InputKindName{InputKind::zero_one, "zero_one"},
                                 InputKindName{InputKind::outliers, "outliers"},
                                 InputKindName{InputKind::ramp, "ramp"},
                                 InputKindName{InputKind::peaked, "peaked"}};

}  // namespace

bool Workload::has(WorkloadRole role) const { return std::ranges::find(roles, role) != roles.end(); }

std::string_view to_string(InputKind kind) {
  const auto* found = std::ranges::find(kInputKinds, kind, &InputKindName::kind);
  AK_ASSERT(found != kInputKinds.end(), "every InputKind has a row in kInputKinds");
  return found->name;
}

std::optional<InputKind> parse_input_kind(std::string_view text) {
  const auto* found = std::ranges::find(kInputKinds, text, &InputKindName::name);
  if (found == kInputKinds.end()) return std::nullopt;
  return found->kind;
}

Environment ProblemInstance::environment(const AxisValues& sizes) const {
  Environment environment(params.begin(), params.end());
  for (const Axis& axis : definition.axes) {
    if (axis.value) environment[axis.name] = *axis.value;
  }
  for (const auto& [name, size] : sizes) environment[name] = size;
  for (const auto* tensors : {&definition.inputs, &definition.outputs}) {
    for (const TensorSpec& tensor : *tensors)
      environment["sizeof_" + tensor.name] = std::int64_t{info(tensor.dtype).bytes};
  }
  return environment;
}

}  // namespace ak
