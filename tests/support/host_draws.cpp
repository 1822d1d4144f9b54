// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -ffp-contract=off: a fused multiply-add would round once where the device rounds twice.
#include "tests/support/host_draws.h"

#include <cstring>

#include "core/error.h"
#include "core/plan/random_input.h"

namespace ak::testing {
namespace {

using Key = std::array<std::uint32_t, 2>;

template <class T, class Make>
void fill(std::span<std::byte> bytes, const Make& make) {
  for (std::size_t i = 0; i * sizeof(T) < bytes.size(); ++i) {
    const T value = static_cast<T>(make(i));
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

void fill_random(std::span<std::byte> bytes, DType dtype, Key key, const ak_random::Draw& draw) {
  AK_ASSERT(draw.count >= 0 && bytes.size() == static_cast<std::size_t>(draw.count) *
                                                   static_cast<std::size_t>(info(dtype).bytes),
            "the buffer holds exactly the elements of the draw");
  const ak_random::Key stream{key[0], key[1]};
  const auto real = [&](std::size_t i) { return ak_random::real_element(stream, i, draw); };
  const auto integer = [&](std::size_t i) { return ak_random::integer_element(stream, i, draw); };
  switch (dtype) {
    case DType::float64:
      return fill<double>(bytes, real);
    case DType::float32:
      return fill<float>(bytes, real);
    case DType::float16:
      return fill<std::uint16_t>(bytes, [&](std::size_t i) { return float_to_half(real(i)); });
    case DType::bfloat16:
      return fill<std::uint16_t>(bytes, [&](std::size_t i) { return float_to_bfloat16(real(i)); });
    case DType::float8_e4m3fn:
      return fill<std::uint8_t>(bytes, [&](std::size_t i) { return float_to_e4m3(real(i)); });
    case DType::float8_e5m2:
      return fill<std::uint8_t>(bytes, [&](std::size_t i) { return float_to_e5m2(real(i)); });
    case DType::int64:
      return fill<std::int64_t>(bytes, integer);
    case DType::int32:
    case DType::uint32:
      return fill<std::uint32_t>(bytes, integer);
    case DType::int16:
      return fill<std::int16_t>(bytes, integer);
    case DType::int8:
    case DType::uint8:
      return fill<std::uint8_t>(bytes, integer);
    case DType::int4x2:
    case DType::uint4x2:
      return fill<std::uint8_t>(bytes,
                                [&](std::size_t i) { return ak_random::packed_element(stream, i, draw); });
    case DType::boolean:
      return fill<bool>(bytes, [&](std::size_t i) { return integer(i) != 0; });
  }
}

ak_random::Draw vector_draw(const InputDraw& draw, DType dtype, std::int64_t count) {
  const auto drawn = resolve_draw(draw, dtype, {count}, {});
  AK_ASSERT(drawn.ok(), "a draw without bounds suits every vector");
  return *drawn;
}

}  // namespace ak::testing
