// SPDX-License-Identifier: Apache-2.0
//
// Every step here has its twin in runtime/check/device/random_input.cuh; random_input_test compares the
// two bit by bit. Compiled with -ffp-contract=off: a fused multiply-add would round once where the
// device rounds twice.
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

enum Stream : std::uint32_t { kValue, kSelection };

Words draw(Key key, std::uint64_t index, Stream stream) {
  return philox4x32({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), stream, 0},
                    key);
}

// Uniform in [0, bound): the high word of a product, with a bias below bound / 2^32.
std::int32_t below(std::uint32_t word, std::uint32_t bound) {
  return static_cast<std::int32_t>(std::uint64_t{word} * bound >> 32);
}

// Sum of the eight 16-bit halves (Irwin-Hall), centred; divided by its standard deviation 65536 * sqrt(8 /
// 12). Exact up to the one multiplication; reaches 4.9 standard deviations.
float standard_normal(const Words& words) {
  std::int32_t sum = 0;
  for (const std::uint32_t word : words) sum += static_cast<std::int32_t>((word & 0xFFFFu) + (word >> 16));
  return static_cast<float>(sum - 4 * 65535) * 1.8688124e-05f;
}

float unscaled(Key key, std::uint64_t index, InputKind kind) {
  const Words words = draw(key, index, kValue);
  switch (kind) {
    case InputKind::normal:
      return standard_normal(words);
    case InputKind::uniform:
      return static_cast<float>(static_cast<std::int32_t>(words[0] >> 8) - (1 << 23)) * 0x1p-23f;
    case InputKind::small_integer:
      return static_cast<float>(below(words[0], 7) - 3);
    case InputKind::zero_one:
      return static_cast<float>(words[0] >> 31);
    case InputKind::outliers:
      return standard_normal(words) * ((draw(key, index, kSelection)[0] & 1023u) == 0 ? 100.0f : 1.0f);
    case InputKind::ramp:
      return static_cast<float>(static_cast<std::int32_t>(index & 1023u) - 512) * 0x1p-10f;
    case InputKind::peaked:
      return standard_normal(words) + ((draw(key, index, kSelection)[0] & 255u) == 0 ? 20.0f : 0.0f);
  }
  AK_ASSERT(false, "every InputKind is drawn");
  return 0;
}

float real_element(Key key, std::uint64_t index, const InputDistribution& distribution) {
  const float value = unscaled(key, index, distribution.kind);
  if (distribution.kind == InputKind::zero_one) return value;
  const float scaled = value * distribution.scale;
  return scaled + distribution.shift;
}

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
  std::uint64_t name = 0xCBF29CE484222325;  // FNV-1a, 64 bits
  for (const char c : tensor) name = (name ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  const Words mixed =
      philox4x32({static_cast<std::uint32_t>(name), static_cast<std::uint32_t>(name >> 32), 0, 0},
                 {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return {mixed[0], mixed[1]};
}

void fill_random(std::span<std::byte> bytes, DType dtype, std::int64_t count, Key key,
                 const InputDistribution& distribution) {
  AK_ASSERT(count >= 0 &&
                bytes.size() == static_cast<std::size_t>(count) * static_cast<std::size_t>(info(dtype).bytes),
            "the buffer holds exactly count elements");
  const auto real = [&](std::size_t i) { return real_element(key, i, distribution); };
  const auto integer = [&](std::size_t i) { return below(draw(key, i, kValue)[0], 17) - 8; };
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
      return fill<std::int32_t>(bytes, integer);
    case DType::int16:
      return fill<std::int16_t>(bytes, integer);
    case DType::int8:
      return fill<std::int8_t>(bytes, integer);
    case DType::boolean:
      return fill<bool>(bytes, [&](std::size_t i) { return draw(key, i, kValue)[0] >> 31 != 0; });
  }
}

}  // namespace ak
