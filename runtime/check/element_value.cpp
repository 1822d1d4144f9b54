// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/element_value.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/error.h"
#include "core/plan/random_input.h"

namespace ak::runtime {
namespace {

template <class T>
T read_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void write_as(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

double element_value(const std::byte* at, DType dtype) {
  switch (dtype) {
    case DType::float64:
      return read_as<double>(at);
    case DType::float32:
      return read_as<float>(at);
    case DType::float16:
      return half_to_float(read_as<std::uint16_t>(at));
    case DType::bfloat16:
      return bfloat16_to_float(read_as<std::uint16_t>(at));
    case DType::float8_e4m3fn:
      return e4m3_to_float(read_as<std::uint8_t>(at));
    case DType::float8_e5m2:
      return e5m2_to_float(read_as<std::uint8_t>(at));
    case DType::int64:
      return static_cast<double>(read_as<std::int64_t>(at));
    case DType::int32:
      return read_as<std::int32_t>(at);
    case DType::int16:
      return read_as<std::int16_t>(at);
    case DType::int8:
      return read_as<std::int8_t>(at);
    case DType::uint32:
      return read_as<std::uint32_t>(at);
    case DType::uint8:
    case DType::boolean:
    case DType::int4x2:
    case DType::uint4x2:
      return read_as<std::uint8_t>(at);
  }
  AK_ASSERT(false, "every dtype has a case");
  return 0;
}

void set_element(std::byte* at, DType dtype, double value) {
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DType::float64:
      return write_as(at, value);
    case DType::float32:
      return write_as(at, single);
    case DType::float16:
      return write_as(at, float_to_half(single));
    case DType::bfloat16:
      return write_as(at, float_to_bfloat16(single));
    case DType::float8_e4m3fn:
      return write_as(at, float_to_e4m3(single));
    case DType::float8_e5m2:
      return write_as(at, float_to_e5m2(single));
    case DType::int64:
      return write_as(at, static_cast<std::int64_t>(std::llround(value)));
    case DType::int32:
      return write_as(at, static_cast<std::int32_t>(std::lround(value)));
    case DType::int16:
      return write_as(at, static_cast<std::int16_t>(std::lround(value)));
    case DType::int8:
      return write_as(at, static_cast<std::int8_t>(std::lround(value)));
    case DType::uint32:
      return write_as(at, static_cast<std::uint32_t>(std::llround(value)));
    case DType::uint8:
    case DType::int4x2:
    case DType::uint4x2:
      return write_as(at, static_cast<std::uint8_t>(std::lround(value)));
    case DType::boolean:
      return write_as(at, static_cast<std::uint8_t>(value != 0));
  }
  AK_ASSERT(false, "every dtype has a case");
}

}  // namespace ak::runtime
