// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/type.h"

#include <catch2/catch.hpp>

namespace {

using namespace ak::emulator;

TEST_CASE("Every type is found by the name it prints") {
  for (int i = 0; i <= static_cast<int>(Type::b1); ++i) {
    const auto type = static_cast<Type>(i);
    INFO(to_string(type));
    CHECK(parse_type(to_string(type)) == type);
    CHECK(bits(type) > 0);
    CHECK(bytes(type) >= 1);
  }
  CHECK_FALSE(parse_type("f31"));
  CHECK_FALSE(parse_type("e4m3x2x"));
  CHECK_FALSE(parse_type("e4m3x2xx"));
  CHECK_FALSE(parse_type(std::string_view("\0b8", 3)));
  CHECK_FALSE(parse_type(std::string_view("b8\0", 3)));
  CHECK_FALSE(parse_type(""));
}

TEST_CASE("Types know their size and kind") {
  CHECK(bits(Type::pred) == 1);
  CHECK(bytes(Type::pred) == 1);
  CHECK(bits(Type::b128) == 128);
  CHECK(bytes(Type::s64) == 8);
  CHECK(bits(Type::f32x2) == 64);
  CHECK(bits(Type::bf16x2) == 32);
  CHECK(bits(Type::e2m1x2) == 8);
  CHECK(bytes(Type::e4m3x2) == 2);
  CHECK(bytes(Type::u4) == 1);
  CHECK(is_float(Type::bf16x2));
  CHECK(is_float(Type::e4m3));
  CHECK_FALSE(is_float(Type::b32));
  CHECK_FALSE(is_float(Type::s16x2));
  CHECK(is_signed(Type::s8));
  CHECK_FALSE(is_signed(Type::u8));
  CHECK_FALSE(is_signed(Type::f32));
}

TEST_CASE("Spaces print as PTX writes them") {
  CHECK(to_string(Space::constant) == "const");
  CHECK(to_string(Space::shared_cluster) == "shared::cluster");
}

}  // namespace
