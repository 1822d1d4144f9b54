// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -ffp-contract=off: a fused multiply-add would round once where the device rounds twice.
#include "core/plan/random_input.h"

#include <cstring>

#include "core/error.h"

namespace ak {
namespace {

using Words = std::array<std::uint32_t, 4>;
using Key = std::array<std::uint32_t, 2>;

// Salmon et al., section 5.3: multipliers, and Weyl constants (golden ratio and sqrt(3) - 1).
constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

template <class T, class Make>
void fill(std::span<std::byte> bytes, const Make& make) {
  for (std::size_t i = 0; i * sizeof(T) < bytes.size(); ++i) {
    const T value = static_cast<T>(make(i));
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

Words philox4x32(Words counter, Key key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

Key tensor_key(std::uint64_t seed, std::string_view tensor) {
  const ak_random::Key key = ak_random::tensor_key(seed, tensor.data(), tensor.size());
  return {key.x, key.y};
}

double random_scalar(Key key, const ak_random::Draw& draw) {
  return ak_random::chosen({key[0], key[1]}, 0, draw);
}

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

}  // namespace ak
