// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulated/emulated_tensor_map.h"

#include <cstring>

#include "emulator/machine/tensor_map_descriptor.h"

namespace ak::runtime {
namespace {

using emulator::TensorMapDescriptor;

// What the CUDA driver API's documentation of cuTensorMapEncodeTiled demands.
constexpr cuuint64_t kMaxExtent = cuuint64_t{1} << 32, kMaxStride = cuuint64_t{1} << 40;
constexpr cuuint32_t kMaxBox = 256, kMaxElementStride = 8, kBoxRowGranule = 16;

struct Layout {
  cuuint32_t rank;
  const cuuint64_t* dims;
  const cuuint64_t* strides;
  const cuuint32_t* box;
  const cuuint32_t* element_strides;
};

bool good_extents(const Layout& layout) {
  for (cuuint32_t i = 0; i < layout.rank; ++i) {
    if (layout.dims[i] < 1 || layout.dims[i] > kMaxExtent) return false;
    if (layout.box[i] < 1 || layout.box[i] > kMaxBox) return false;
    if (layout.element_strides[i] < 1 || layout.element_strides[i] > kMaxElementStride) return false;
  }
  return true;
}

bool good_strides(const Layout& layout, CUtensorMapInterleave interleave) {
  const cuuint64_t granule = interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
  for (cuuint32_t i = 0; i + 1 < layout.rank; ++i) {
    if (layout.strides[i] % granule != 0 || layout.strides[i] >= kMaxStride) return false;
  }
  return true;
}

// The widest inner row of a box under a swizzle.
cuuint32_t widest_row(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_32B:
      return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B:
      return 64;
    case CU_TENSOR_MAP_SWIZZLE_128B:
      return 128;
    default:
      return 0xFFFFFFFFu;
  }
}

bool good_rows(const Layout& layout, cuuint32_t element_bytes, CUtensorMapInterleave interleave,
               CUtensorMapSwizzle swizzle) {
  if (interleave == CU_TENSOR_MAP_INTERLEAVE_32B) return swizzle == CU_TENSOR_MAP_SWIZZLE_32B;
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return true;
  const cuuint32_t row = layout.box[0] * element_bytes;
  return row % kBoxRowGranule == 0 && row <= widest_row(swizzle);
}

}  // namespace

CUresult encode_emulated_tensor_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                    void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                    const cuuint32_t* box, const cuuint32_t* element_strides,
                                    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                    CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  if (type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ || swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
    return CUDA_ERROR_NOT_SUPPORTED;
  const bool interleaved = interleave != CU_TENSOR_MAP_INTERLEAVE_NONE;
  if (rank < (interleaved ? 3u : 1u) || rank > 5) return CUDA_ERROR_INVALID_VALUE;
  const auto element = static_cast<emulator::TensorElement>(type);
  const Layout layout{rank, dims, strides, box, element_strides};
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const bool wants_nan = fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  const bool good = start % (interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16) == 0 &&
                    reinterpret_cast<std::uintptr_t>(map) % 64 == 0 && good_extents(layout) &&
                    good_strides(layout, interleave) &&
                    good_rows(layout, emulator::bytes_of(element), interleave, swizzle) &&
                    (!wants_nan || emulator::is_floating(element));
  if (!good) return CUDA_ERROR_INVALID_VALUE;
  TensorMapDescriptor encoded;
  encoded.magic = TensorMapDescriptor::kMagic;
  encoded.address = start;
  encoded.rank = rank;
  for (std::size_t i = 0; i < rank; ++i) {
    encoded.extent[i] = static_cast<std::uint32_t>(dims[i] - 1);
    encoded.box[i] = static_cast<std::uint16_t>(box[i]);
    encoded.element_strides[i] = static_cast<std::uint8_t>(element_strides[i]);
    if (i + 1 < rank) encoded.stride[i] = strides[i];
  }
  encoded.element = element;
  encoded.interleave = static_cast<emulator::TensorInterleave>(interleave);
  encoded.swizzle = static_cast<emulator::TensorSwizzle>(swizzle);
  encoded.fill = wants_nan ? emulator::TensorFill::nan : emulator::TensorFill::zero;
  std::memcpy(map, &encoded, sizeof encoded);
  return CUDA_SUCCESS;
}

}  // namespace ak::runtime
