// SPDX-License-Identifier: Apache-2.0
#include "codegen/stand_alone_launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"

namespace ak::codegen {
namespace {

// More dynamic shared memory than this must be asked for (CUDA C++ Programming Guide, shared memory).
constexpr std::uint32_t kSharedBytesByDefault = 48u << 10;
constexpr std::uint32_t kPortableClusterBlocks = 8;

struct EnumName {
  std::string_view plan, cuda;
};
constexpr std::array kInterleaves{EnumName{"none", "CU_TENSOR_MAP_INTERLEAVE_NONE"},
                                  EnumName{"16B", "CU_TENSOR_MAP_INTERLEAVE_16B"},
                                  EnumName{"32B", "CU_TENSOR_MAP_INTERLEAVE_32B"}};
constexpr std::array kSwizzles{
    EnumName{"none", "CU_TENSOR_MAP_SWIZZLE_NONE"}, EnumName{"32B", "CU_TENSOR_MAP_SWIZZLE_32B"},
    EnumName{"64B", "CU_TENSOR_MAP_SWIZZLE_64B"}, EnumName{"128B", "CU_TENSOR_MAP_SWIZZLE_128B"}};
constexpr std::array kPromotions{EnumName{"none", "CU_TENSOR_MAP_L2_PROMOTION_NONE"},
                                 EnumName{"64B", "CU_TENSOR_MAP_L2_PROMOTION_L2_64B"},
                                 EnumName{"128B", "CU_TENSOR_MAP_L2_PROMOTION_L2_128B"},
                                 EnumName{"256B", "CU_TENSOR_MAP_L2_PROMOTION_L2_256B"}};
constexpr std::array kFills{EnumName{"none", "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE"},
                            EnumName{"nan", "CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA"}};

template <class Table>
std::string_view cuda_name(const Table& table, const std::string& name) {
  const auto* found = std::ranges::find(table, name, &EnumName::plan);
  AK_ASSERT(found != table.end(), "the plan's reader accepts only the names in the tables");
  return found->cuda;
}

std::string_view tensor_map_type(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return "CU_TENSOR_MAP_DATA_TYPE_FLOAT64";
    case DType::float32:
      return "CU_TENSOR_MAP_DATA_TYPE_FLOAT32";
    case DType::float16:
      return "CU_TENSOR_MAP_DATA_TYPE_FLOAT16";
    case DType::bfloat16:
      return "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16";
    case DType::int64:
      return "CU_TENSOR_MAP_DATA_TYPE_INT64";
    case DType::int32:
      return "CU_TENSOR_MAP_DATA_TYPE_INT32";
    case DType::int16:
      return "CU_TENSOR_MAP_DATA_TYPE_UINT16";
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
    case DType::int8:
    case DType::boolean:
      return "CU_TENSOR_MAP_DATA_TYPE_UINT8";
  }
  AK_ASSERT(false, "every DType has a tensor map type");
  return "";
}

std::string dim3_of(const std::array<std::uint32_t, 3>& size) {
  return fmt::format("dim3({}, {}, {})", size[0], size[1], size[2]);
}

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
    return fmt::format("ak_test::make_tensor_map({}, {{{}, {{{}}}, {{{}}}, {{{}}}, {{{}}}, {}, {}, {}, {}}})",
                       pointer(map->tensor), tensor_map_type(map->dtype), fmt::join(map->dims, ", "),
                       fmt::join(map->strides_bytes, ", "), fmt::join(map->box, ", "),
                       fmt::join(map->element_strides, ", "), cuda_name(kInterleaves, map->interleave),
                       cuda_name(kSwizzles, map->swizzle), cuda_name(kPromotions, map->l2_promotion),
                       cuda_name(kFills, map->oob_fill));
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
    }
    AK_ASSERT(false, "every ScalarType is written");
    return "";
  }

  [[nodiscard]] std::string argument(const ResolvedArgument& argument) const {
    if (const auto* value = std::get_if<ResolvedScalar>(&argument)) return scalar(*value);
    if (const auto* name = std::get_if<ResolvedPointer>(&argument)) return pointer(name->name);
    return tensor_map(std::get<ResolvedTensorMapReference>(argument).name);
  }

  /// cudaLaunchKernelEx for what <<<>>> cannot say.
  [[nodiscard]] static std::string extended(const ResolvedLaunch& launch, const std::string& arguments) {
    std::string text = fmt::format("  {{\n    ak_test::ExtendedLaunch launch({}, {}, {});\n",
                                   dim3_of(launch.grid), dim3_of(launch.block), launch.shared_bytes);
    if (launch.cluster != std::array<std::uint32_t, 3>{1, 1, 1}) {
      text += fmt::format("    launch.cluster({}, {}, {});\n", launch.cluster[0], launch.cluster[1],
                          launch.cluster[2]);
      if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > kPortableClusterBlocks)
        text += fmt::format(
            "    AK_CHECK(cudaFuncSetAttribute({}, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));\n",
            launch.kernel);
    }
    if (launch.cooperative) text += "    launch.cooperative();\n";
    if (launch.pdl) text += "    launch.programmatic();\n";
    return text + fmt::format("    AK_CHECK(cudaLaunchKernelEx(launch.config(), {}{}{}));\n  }}\n",
                              launch.kernel, arguments.empty() ? "" : ", ", arguments);
  }

  [[nodiscard]] std::string launch(const ResolvedLaunch& launch) const {
    std::string arguments;
    for (const ResolvedArgument& each : launch.arguments)
      arguments += (arguments.empty() ? "" : ", ") + argument(each);
    std::string text;
    if (launch.shared_bytes > kSharedBytesByDefault)
      text = fmt::format(
          "  AK_CHECK(cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, {}));\n",
          launch.kernel, launch.shared_bytes);
    const bool plain =
        launch.cluster == std::array<std::uint32_t, 3>{1, 1, 1} && !launch.cooperative && !launch.pdl;
    if (!plain) return text + extended(launch, arguments);
    return text + fmt::format("  {}<<<{}, {}, {}>>>({});\n", launch.kernel, dim3_of(launch.grid),
                              dim3_of(launch.block), launch.shared_bytes, arguments);
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
  for (const ResolvedLaunch& launch : plan.launches) text += writer.launch(launch);
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
