// SPDX-License-Identifier: Apache-2.0
#include "core/plan/dtype.h"

#include <array>

#include "core/error.h"

namespace ak {
namespace {

constexpr double pow2(int exponent) {
  double value = 1;
  for (; exponent < 0; ++exponent) value /= 2;
  return value;
}

constexpr std::array kDTypes{
    DTypeInfo{DType::float64, "float64", "fp64", "double", "", 8, true, pow2(-53)},
    DTypeInfo{DType::float32, "float32", "fp32", "float", "", 4, true, pow2(-24)},
    DTypeInfo{DType::float16, "float16", "fp16", "__half", "cuda_fp16.h", 2, true, pow2(-11)},
    DTypeInfo{DType::bfloat16, "bfloat16", "bf16", "__nv_bfloat16", "cuda_bf16.h", 2, true, pow2(-8)},
    DTypeInfo{DType::float8_e4m3fn, "float8_e4m3fn", "e4m3", "__nv_fp8_e4m3", "cuda_fp8.h", 1, true,
              pow2(-4)},
    DTypeInfo{DType::float8_e5m2, "float8_e5m2", "e5m2", "__nv_fp8_e5m2", "cuda_fp8.h", 1, true, pow2(-3)},
    DTypeInfo{DType::int64, "int64", "i64", "long long", "", 8, false, 0},
    DTypeInfo{DType::int32, "int32", "i32", "int", "", 4, false, 0},
    DTypeInfo{DType::int16, "int16", "i16", "short", "", 2, false, 0},
    DTypeInfo{DType::int8, "int8", "i8", "signed char", "", 1, false, 0},
    DTypeInfo{DType::uint32, "uint32", "u32", "unsigned int", "", 4, false, 0, true},
    DTypeInfo{DType::uint8, "uint8", "u8", "unsigned char", "", 1, false, 0, true},
    DTypeInfo{DType::boolean, "bool", "b8", "bool", "", 1, false, 0},
    // An element is a byte: what its bits mean is for kernels to know, and what is compared is the byte.
    DTypeInfo{DType::int4x2, "int4x2", "i4x2", "unsigned char", "", 1, false, 0, true, 2},
    DTypeInfo{DType::uint4x2, "uint4x2", "u4x2", "unsigned char", "", 1, false, 0, true, 2},
};

}  // namespace

std::span<const DTypeInfo> dtypes() { return kDTypes; }

const DTypeInfo& info(DType dtype) {
  for (const DTypeInfo& entry : kDTypes) {
    if (entry.dtype == dtype) return entry;
  }
  AK_ASSERT(false, "every DType has a row in kDTypes");
  return kDTypes[0];
}

std::optional<DType> parse_dtype(std::string_view text) {
  for (const DTypeInfo& entry : kDTypes) {
    if (text == entry.name || text == entry.alias) return entry.dtype;
  }
  return std::nullopt;
}

}  // namespace ak
