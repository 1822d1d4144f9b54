// SPDX-License-Identifier: Apache-2.0
#include "codegen/emit/stand_alone_launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codegen/emit/launch_text.h"
#include "core/error.h"

namespace ak::codegen {
namespace {

std::string dim3_of(const std::array<std::uint32_t, 3>& size) {
  return fmt::format("dim3({}, {}, {})", size[0], size[1], size[2]);
}

constexpr LaunchStyle kStyle{.space = "ak_test", .stream = ""};

/// Writes the launches of one plan as host code.
struct Writer {
  const ResolvedPlan& plan;
  const std::vector<std::string>& tensors;

  [[nodiscard]] std::string pointer(const std::string& name) const {
    if (name.empty()) return "ak_test::Pointer{nullptr}";
    const auto tensor = std::ranges::find(tensors, name);
    if (tensor != tensors.end()) return fmt::format("tensor[{}] /* {} */", tensor - tensors.begin(), name);
    const auto space = std::ranges::find(plan.workspace, name, &ResolvedWorkspace::name);
    AK_ASSERT(space != plan.workspace.end(), "a resolved argument names a tensor or a workspace");
    return fmt::format("workspace[{}] /* {} */", space - plan.workspace.begin(), name);
  }

  [[nodiscard]] std::string tensor_map(const std::string& name) const {
    const auto map = std::ranges::find(plan.tensor_maps, name, &ResolvedTensorMap::name);
    AK_ASSERT(map != plan.tensor_maps.end(), "a resolved argument names a tensor map of the plan");
    return tensor_map_text({.pointer = pointer(map->tensor),
                            .dtype = map->dtype,
                            .dims = texts(map->dims),
                            .strides_bytes = texts(map->strides_bytes),
                            .box = texts(map->box),
                            .element_strides = texts(map->element_strides),
                            .interleave = map->interleave,
                            .swizzle = map->swizzle,
                            .l2_promotion = map->l2_promotion,
                            .oob_fill = map->oob_fill},
                           kStyle);
  }

  [[nodiscard]] static std::vector<std::string> texts(const std::vector<std::int64_t>& numbers) {
    std::vector<std::string> result;
    for (const std::int64_t number : numbers) result.push_back(std::to_string(number));
    return result;
  }

  /// Its value comes with each distribution.
  [[nodiscard]] std::string scalar_input(const ResolvedScalarInput& input) const {
    const auto tensor = std::ranges::find(tensors, input.name);
    AK_ASSERT(tensor != tensors.end(), "a scalar input is among the tensors of its problem");
    return fmt::format("static_cast<{}>(tensor[{}].{} /* {} */)", cpp_type(input.type),
                       tensor - tensors.begin(), is_floating(input.type) ? "real" : "whole", input.name);
  }

  [[nodiscard]] static std::string scalar(const ResolvedScalar& value) {
    switch (value.type) {
      case ScalarType::i32:
        return fmt::format("{}", value.integer);
      case ScalarType::i64:
        return fmt::format("{}LL", value.integer);
      case ScalarType::f32:
        return fmt::format("static_cast<float>({:.17g})", value.real);
      case ScalarType::f64:
        return fmt::format("static_cast<double>({:.17g})", value.real);
      case ScalarType::boolean:
        return value.integer != 0 ? "true" : "false";
    }
    AK_ASSERT(false, "every ScalarType is written");
    return "";
  }

  [[nodiscard]] std::string argument(const ResolvedArgument& argument) const {
    if (const auto* value = std::get_if<ResolvedScalar>(&argument)) return scalar(*value);
    if (const auto* name = std::get_if<ResolvedPointer>(&argument)) return pointer(name->name);
    if (const auto* input = std::get_if<ResolvedScalarInput>(&argument)) return scalar_input(*input);
    return tensor_map(std::get<ResolvedTensorMapReference>(argument).name);
  }

  [[nodiscard]] std::string launch(const ResolvedLaunch& launch) const {
    LaunchText text{
        .kernel = launch.kernel,
        .grid = dim3_of(launch.grid),
        .block = dim3_of(launch.block),
        .shared_bytes = std::to_string(launch.shared_bytes),
        .known_shared_bytes = launch.shared_bytes,
        .cluster = "",
        .cluster_blocks = "",
        .known_cluster_blocks = std::int64_t{launch.cluster[0]} * launch.cluster[1] * launch.cluster[2],
        .cooperative = launch.cooperative,
        .early = launch.pdl ? "true" : "",
        .arguments = {}};
    if (launch.cluster != std::array<std::uint32_t, 3>{1, 1, 1})
      text.cluster = fmt::format("{}, {}, {}", launch.cluster[0], launch.cluster[1], launch.cluster[2]);
    for (const ResolvedArgument& each : launch.arguments) text.arguments.push_back(argument(each));
    return launch_statements(text, kStyle);
  }
};

}  // namespace

std::vector<std::string> tensor_names(const Definition& definition) {
  std::vector<std::string> names;
  for (const TensorSpec& tensor : definition.inputs) names.push_back(tensor.name);
  for (const TensorSpec& tensor : definition.outputs) names.push_back(tensor.name);
  return names;
}

std::string launch_function(const std::string& name, const ResolvedPlan& plan,
                            const std::vector<std::string>& tensors) {
  const Writer writer{plan, tensors};
  std::string text = fmt::format(
      "void {}([[maybe_unused]] const std::vector<ak_test::Pointer>& tensor,\n"
      "    [[maybe_unused]] const std::vector<ak_test::Pointer>& workspace) {{\n",
      name);
  // The test is of results, so that weights may be prepared anew in every call.
  for (const auto* launches : {&plan.prepare, &plan.launches})
    for (const ResolvedLaunch& launch : *launches) text += writer.launch(launch);
  return text + "}\n";
}

std::string sequence_row(const std::string& name, const ResolvedPlan& plan) {
  std::vector<std::string> rows;
  for (const ResolvedWorkspace& space : plan.workspace) {
    rows.push_back(
        fmt::format("{{{}, {}}}", space.count * info(space.dtype).bytes, space.init == WorkspaceInit::zero));
  }
  return fmt::format("{{&{}, {{{}}}}}", name, fmt::join(rows, ", "));
}

}  // namespace ak::codegen
