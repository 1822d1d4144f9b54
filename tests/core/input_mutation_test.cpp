// SPDX-License-Identifier: Apache-2.0
#include "core/plan/input_mutation.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

using namespace ak;

namespace {

const InputMutation& named(const std::vector<InputMutation>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &InputMutation::name);
  REQUIRE(found != all.end());
  return *found;
}

/// What a kernel sees that is blind to the part; `rows` lines of one element each.
template <class T>
std::vector<T> without(std::string_view part, DType dtype, std::vector<T> values) {
  const auto all = input_mutations(dtype);
  static_cast<void>(clear_part(named(all, part), dtype, static_cast<std::int64_t>(values.size()),
                               std::as_writable_bytes(std::span(values))));
  return values;
}

}  // namespace

TEST_CASE("each mutation of an input clears its part and nothing else") {
  using Ints = std::vector<std::int32_t>;
  using Floats = std::vector<float>;
  CHECK(without<std::int32_t>("ignored_input", DType::int32, {1, -2}) == Ints{0, 0});
  CHECK(without<std::int32_t>("ignored_end", DType::int32, {1, 2, 3}) == Ints{1, 2, 0});
  CHECK(without<std::int32_t>("ignored_sign", DType::int32, {-256, 5}) == Ints{256, 5});
  CHECK(without<float>("ignored_sign", DType::float32, {-1.5f, 2}) == Floats{1.5f, 2});
  CHECK(without<std::int32_t>("ignored_byte_1", DType::int32, {0x01020304}) == Ints{0x01020004});
  CHECK(without<std::uint8_t>("ignored_bits_1", DType::uint8, {0x8A, 0x7A}) ==
        std::vector<std::uint8_t>{0xFA, 0x0A});
}

TEST_CASE("of values from -8 to 8 nobody sees whether a kernel reads one bit of the high four") {
  std::vector<std::int8_t> values;
  for (int v = -8; v <= 8; ++v) values.push_back(static_cast<std::int8_t>(v));
  const auto all = input_mutations(DType::int8);
  const auto bytes = std::as_writable_bytes(std::span(values));
  CHECK_FALSE(clear_part(named(all, "ignored_bits_1"), DType::int8, 1, bytes));
  values.back() = 0x40;
  CHECK(clear_part(named(all, "ignored_bits_1"), DType::int8, 1, bytes));
}

TEST_CASE("types have the mutations that can show in them") {
  const auto has = [](DType dtype, std::string_view name) {
    const auto all = input_mutations(dtype);
    return std::ranges::find(all, name, &InputMutation::name) != all.end();
  };
  CHECK(has(DType::float16, "ignored_byte_1"));
  CHECK_FALSE(has(DType::float16, "ignored_byte_2"));
  CHECK_FALSE(has(DType::float16, "ignored_bits_0"));
  CHECK_FALSE(has(DType::uint8, "ignored_sign"));
  CHECK(has(DType::int64, "ignored_bits_15"));
  CHECK(input_mutations(DType::boolean).size() == 2);
  CHECK(is_input_mutation("ignored_byte_7"));
  CHECK_FALSE(is_input_mutation("zeros"));
}
