// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/tensor_map.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

namespace ak::runtime {
namespace {

template <class T>
struct Named {
  std::string_view name;
  T value;
};

constexpr Named<CUtensorMapInterleave> kInterleaves[] = {{"none", CU_TENSOR_MAP_INTERLEAVE_NONE},
                                                         {"16B", CU_TENSOR_MAP_INTERLEAVE_16B},
                                                         {"32B", CU_TENSOR_MAP_INTERLEAVE_32B}};
constexpr Named<CUtensorMapSwizzle> kSwizzles[] = {{"none", CU_TENSOR_MAP_SWIZZLE_NONE},
                                                   {"32B", CU_TENSOR_MAP_SWIZZLE_32B},
                                                   {"64B", CU_TENSOR_MAP_SWIZZLE_64B},
                                                   {"128B", CU_TENSOR_MAP_SWIZZLE_128B}};
constexpr Named<CUtensorMapL2promotion> kPromotions[] = {{"none", CU_TENSOR_MAP_L2_PROMOTION_NONE},
                                                         {"64B", CU_TENSOR_MAP_L2_PROMOTION_L2_64B},
                                                         {"128B", CU_TENSOR_MAP_L2_PROMOTION_L2_128B},
                                                         {"256B", CU_TENSOR_MAP_L2_PROMOTION_L2_256B}};
constexpr Named<CUtensorMapFloatOOBfill> kFills[] = {
    {"none", CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE}, {"nan", CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA}};

template <class T, std::size_t N>
std::optional<T> named(const Named<T> (&table)[N], std::string_view name) {
  for (const Named<T>& entry : table) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

std::optional<CUtensorMapDataType> data_type(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case DType::float32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::float16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::bfloat16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::int64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case DType::int32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case DType::uint32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case DType::int16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
    case DType::int8:
    case DType::uint8:
    case DType::boolean:
    case DType::int4x2:
    case DType::uint4x2:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
  return std::nullopt;
}

template <class T>
std::vector<T> as(const std::vector<std::int64_t>& values) {
  std::vector<T> converted;
  for (const std::int64_t value : values) converted.push_back(static_cast<T>(value));
  return converted;
}

// Bytes from the first element to one past the last; a double, because hostile sizes overflow an integer.
double extent_bytes(const ResolvedTensorMap& map) {
  double last = static_cast<double>(map.dims[0] - 1) * info(map.dtype).bytes;
  for (std::size_t i = 1; i < map.dims.size(); ++i) {
    last += static_cast<double>(map.dims[i] - 1) * static_cast<double>(map.strides_bytes[i - 1]);
  }
  return last + info(map.dtype).bytes;
}

std::optional<std::string> wrong_shape(const ResolvedTensorMap& map, BufferView buffer) {
  const std::size_t rank = map.dims.size();
  if (rank < 1 || rank > 5) return fmt::format("has rank {}, but the hardware takes 1 to 5", rank);
  if (map.strides_bytes.size() != rank - 1 || map.box.size() != rank || map.element_strides.size() != rank) {
    return fmt::format("has {} dims, so it needs {} strides_bytes, {} box and {} element_strides entries",
                       rank, rank - 1, rank, rank);
  }
  const auto positive = [](std::int64_t value) { return value >= 1; };
  for (const auto* list : {&map.dims, &map.strides_bytes, &map.box, &map.element_strides}) {
    if (!std::all_of(list->begin(), list->end(), positive)) return "has a size or stride below 1";
  }
  if (extent_bytes(map) > static_cast<double>(buffer.bytes)) {
    return fmt::format("covers {:.0f} bytes of '{}', which has {}", extent_bytes(map), map.tensor,
                       buffer.bytes);
  }
  return std::nullopt;
}

// Limits of cuTensorMapEncodeTiled (CUDA driver API, "Tensor Map Object Management").
constexpr std::int64_t kMaxBox = 256, kMaxElementStride = 8, kRowGranule = 16;
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 32, kMaxStride = std::int64_t{1} << 40;

std::int64_t swizzle_span(CUtensorMapSwizzle swizzle) {
  for (const auto& [mode, bytes] : {std::pair{CU_TENSOR_MAP_SWIZZLE_32B, 32},
                                    {CU_TENSOR_MAP_SWIZZLE_64B, 64},
                                    {CU_TENSOR_MAP_SWIZZLE_128B, 128}}) {
    if (mode == swizzle) return bytes;
  }
  return std::numeric_limits<std::int64_t>::max();
}

std::optional<std::string> wrong_box(const ResolvedTensorMap& map, CUtensorMapInterleave interleave,
                                     CUtensorMapSwizzle swizzle) {
  for (std::size_t i = 0; i < map.dims.size(); ++i) {
    if (map.dims[i] > kMaxExtent)
      return fmt::format("has dims[{}] = {}, but at most {} is possible", i, map.dims[i], kMaxExtent);
    if (map.box[i] > kMaxBox)
      return fmt::format("has box[{}] = {}, but at most {} is possible", i, map.box[i], kMaxBox);
    if (map.element_strides[i] > kMaxElementStride)
      return fmt::format("has element_strides[{}] = {}, but at most {} is possible", i,
                         map.element_strides[i], kMaxElementStride);
  }
  const std::int64_t granule = interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
  for (std::size_t i = 0; i < map.strides_bytes.size(); ++i) {
    if (map.strides_bytes[i] % granule != 0 || map.strides_bytes[i] >= kMaxStride)
      return fmt::format("has strides_bytes[{}] = {}, but a multiple of {} below {} is needed", i,
                         map.strides_bytes[i], granule, kMaxStride);
  }
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return std::nullopt;
  const std::int64_t row = map.box[0] * info(map.dtype).bytes;
  if (row % kRowGranule != 0)
    return fmt::format("has a box {} bytes wide, but a multiple of {} is needed", row, kRowGranule);
  if (row > swizzle_span(swizzle))
    return fmt::format("has a box {} bytes wide, but swizzle {} allows {}", row, map.swizzle,
                       swizzle_span(swizzle));
  return std::nullopt;
}

}  // namespace

Result<CUtensorMap> encode_tensor_map(const ResolvedTensorMap& map, BufferView buffer) {
  const auto reject = [&](const std::string& what) {
    return InputError{fmt::format("tensor map '{}' {}", map.name, what)};
  };
  if (const auto wrong = wrong_shape(map, buffer)) return reject(*wrong);
  const auto type = data_type(map.dtype);
  const auto interleave = named(kInterleaves, map.interleave);
  const auto swizzle = named(kSwizzles, map.swizzle);
  const auto promotion = named(kPromotions, map.l2_promotion);
  const auto fill = named(kFills, map.oob_fill);
  if (!type || !interleave || !swizzle || !promotion || !fill) {
    return reject(
        "has an unknown mode: interleave none|16B|32B, swizzle none|32B|64B|128B, l2_promotion "
        "none|64B|128B|256B, oob_fill none|nan");
  }
  if (const auto wrong = wrong_box(map, *interleave, *swizzle)) return reject(*wrong);
  const auto dims = as<cuuint64_t>(map.dims);
  auto strides = as<cuuint64_t>(map.strides_bytes);
  strides.push_back(0);  // never read, but the driver refuses a null pointer, which one dimension would give
  const auto box = as<cuuint32_t>(map.box), steps = as<cuuint32_t>(map.element_strides);
  CUtensorMap encoded{};
  const CUresult result = driver().cuTensorMapEncodeTiled(
      &encoded, *type, static_cast<cuuint32_t>(dims.size()), reinterpret_cast<void*>(buffer.address),
      dims.data(), strides.data(), box.data(), steps.data(), *interleave, *swizzle, *promotion, *fill);
  if (result != CUDA_SUCCESS) {
    return reject(fmt::format("is refused by the driver: {}", describe(result)));
  }
  return encoded;
}

}  // namespace ak::runtime
