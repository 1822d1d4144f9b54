// SPDX-License-Identifier: Apache-2.0
#include "codegen/emit/launch_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "stand_alone_files.h"

namespace ak::codegen {
namespace {

// More dynamic shared memory than this must be asked for (CUDA C++ Programming Guide, shared memory).
constexpr std::int64_t kSharedBytesByDefault = 48 << 10;
constexpr std::int64_t kPortableClusterBlocks = 8;

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
    case DType::uint32:
      return "CU_TENSOR_MAP_DATA_TYPE_UINT32";
    case DType::int16:
      return "CU_TENSOR_MAP_DATA_TYPE_UINT16";
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
    case DType::int8:
    case DType::uint8:
    case DType::boolean:
    case DType::int4x2:
    case DType::uint4x2:
      return "CU_TENSOR_MAP_DATA_TYPE_UINT8";
  }
  AK_ASSERT(false, "every DType has a tensor map type");
  return "";
}

std::string set_attribute(const LaunchText& launch, const char* attribute, const std::string& value) {
  return fmt::format("AK_CHECK(cudaFuncSetAttribute({}, {}, {}));\n", launch.kernel, attribute, value);
}

/// Left out where the number is known to be small; asked for at run time where it is not known.
std::string attribute_above(const LaunchText& launch, const std::optional<std::int64_t>& known,
                            std::int64_t limit, const std::string& number, const char* attribute,
                            const std::string& value, const std::string& indent) {
  if (known && *known <= limit) return "";
  const std::string condition = known ? "" : fmt::format("if ({} > {}) ", number, limit);
  return indent + condition + set_attribute(launch, attribute, value);
}

/// cudaLaunchKernelEx for what <<<>>> cannot say.
std::string extended(const LaunchText& launch, const LaunchStyle& style, const std::string& arguments) {
  std::string text =
      fmt::format("  {{\n    {}::ExtendedLaunch launch({}, {}, {}{}{});\n", style.space, launch.grid,
                  launch.block, launch.shared_bytes, style.stream.empty() ? "" : ", ", style.stream);
  if (!launch.cluster.empty()) {
    text += fmt::format("    launch.cluster({});\n", launch.cluster);
    text +=
        attribute_above(launch, launch.known_cluster_blocks, kPortableClusterBlocks, launch.cluster_blocks,
                        "cudaFuncAttributeNonPortableClusterSizeAllowed", "1", "    ");
  }
  if (launch.cooperative) text += "    launch.cooperative();\n";
  if (!launch.early.empty()) text += fmt::format("    if ({}) launch.programmatic();\n", launch.early);
  return text + fmt::format("    AK_CHECK(cudaLaunchKernelEx(launch.config(), {}{}{}));\n  }}\n",
                            launch.kernel, arguments.empty() ? "" : ", ", arguments);
}

}  // namespace

std::string launch_statements(const LaunchText& launch, const LaunchStyle& style) {
  const std::string arguments = fmt::format("{}", fmt::join(launch.arguments, ", "));
  const std::string text =
      attribute_above(launch, launch.known_shared_bytes, kSharedBytesByDefault, launch.shared_bytes,
                      "cudaFuncAttributeMaxDynamicSharedMemorySize", launch.shared_bytes, "  ");
  const bool plain =
      launch.cluster.empty() && !launch.cooperative && launch.early.empty() && style.stream.empty();
  if (!plain) return text + extended(launch, style, arguments);
  return text + fmt::format("  {}<<<{}, {}, {}>>>({});\n", launch.kernel, launch.grid, launch.block,
                            launch.shared_bytes, arguments);
}

std::string tensor_map_text(const TensorMapText& map, const LaunchStyle& style) {
  return fmt::format("{}::make_tensor_map({}, {{{}, {{{}}}, {{{}}}, {{{}}}, {{{}}}, {}, {}, {}, {}}})",
                     style.space, map.pointer, tensor_map_type(map.dtype), fmt::join(map.dims, ", "),
                     fmt::join(map.strides_bytes, ", "), fmt::join(map.box, ", "),
                     fmt::join(map.element_strides, ", "), cuda_name(kInterleaves, map.interleave),
                     cuda_name(kSwizzles, map.swizzle), cuda_name(kPromotions, map.l2_promotion),
                     cuda_name(kFills, map.oob_fill));
}

std::string_view cpp_type(ScalarType type) {
  switch (type) {
    case ScalarType::i32:
      return "int";
    case ScalarType::i64:
      return "long long";
    case ScalarType::f32:
      return "float";
    case ScalarType::f64:
      return "double";
    case ScalarType::boolean:
      return "bool";
  }
  AK_ASSERT(false, "every ScalarType has a C++ type");
  return "";
}

std::string_view host_source(std::string_view name) {
  for (const EmbeddedFile& file : stand_alone_files())
    if (file.name == name) return file.text;
  AK_ASSERT(false, "host code is compiled in");
  return "";
}

std::string host_text(std::string_view name, std::string_view space) {
  return fmt::format("namespace {0} {{\n\n{1}\n}}  // namespace {0}\n", space, host_source(name));
}

}  // namespace ak::codegen
