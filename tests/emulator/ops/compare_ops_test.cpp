// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "tests/emulator/ops/lane_stream.h"
#include "tests/emulator/ops/slow_floats.h"

namespace ak::emulator::test {
namespace {

struct NamedRelation {
  std::string name;
  std::function<bool(long double, long double)> holds;
};

bool unordered(long double a, long double b) { return std::isnan(a) || std::isnan(b); }

const std::vector<NamedRelation>& relations() {
  using Value = long double;
  static const std::vector<NamedRelation> all = {
      {"eq", [](Value a, Value b) { return a == b; }},
      {"ne", [](Value a, Value b) { return !unordered(a, b) && a != b; }},
      {"lt", [](Value a, Value b) { return a < b; }},
      {"le", [](Value a, Value b) { return a <= b; }},
      {"gt", [](Value a, Value b) { return a > b; }},
      {"ge", [](Value a, Value b) { return a >= b; }},
      {"equ", [](Value a, Value b) { return unordered(a, b) || a == b; }},
      {"neu", [](Value a, Value b) { return unordered(a, b) || a != b; }},
      {"ltu", [](Value a, Value b) { return unordered(a, b) || a < b; }},
      {"leu", [](Value a, Value b) { return unordered(a, b) || a <= b; }},
      {"gtu", [](Value a, Value b) { return unordered(a, b) || a > b; }},
      {"geu", [](Value a, Value b) { return unordered(a, b) || a >= b; }},
      {"num", [](Value a, Value b) { return !unordered(a, b); }},
      {"nan", [](Value a, Value b) { return unordered(a, b); }},
  };
  return all;
}

struct PairType {
  std::string name;
  const SlowFormat& format;
  std::uint16_t one, infinity;
};

// Zeros and subnormals of both signs, ones, the largest, infinities and NaNs: each against each, and other
// ones in the upper halves.
struct Pairs {
  std::vector<std::uint32_t> a, b;
};
Pairs special_pairs(const PairType& type) {
  std::vector<std::uint16_t> codes;
  for (const int code : {0, 1, 3, int{type.one}, type.one + 1, type.infinity - 1, int{type.infinity},
                         type.infinity + 1, 0x7FFF}) {
    codes.push_back(static_cast<std::uint16_t>(code));
    codes.push_back(static_cast<std::uint16_t>(code | 0x8000));
  }
  Pairs pairs;
  const std::size_t count = codes.size();
  for (std::size_t i = 0; i < count * count; ++i) {
    const std::size_t x = i / count, y = i % count;
    pairs.a.push_back(codes[x] | std::uint32_t{codes[y]} << 16);
    pairs.b.push_back(codes[y] | std::uint32_t{codes[(x + y) % count]} << 16);
  }
  return pairs;
}

/// The result for one half: `yes` where the relation holds.
std::uint32_t half_result(const PairType& type, const NamedRelation& relation, std::uint32_t a,
                          std::uint32_t b, std::uint32_t yes, bool ftz) {
  const auto value = [&](std::uint32_t code) {
    code &= 0xFFFFu;
    if (ftz && (code & type.infinity) == 0) code &= 0x8000u;
    return type.format.value(code);
  };
  return relation.holds(value(a), value(b)) ? yes : 0;
}

void check(const PairType& type, const std::string& result, std::uint32_t yes, bool ftz) {
  const Pairs pairs = special_pairs(type);
  for (const NamedRelation& relation : relations()) {
    const std::string name = "set." + relation.name + (ftz ? ".ftz." : ".") + result + "." + type.name;
    expect_all(
        name, stream<std::uint32_t>(name + " out, in0, in1", pairs.a, pairs.b),
        [&](std::size_t i) {
          return half_result(type, relation, pairs.a[i], pairs.b[i], yes, ftz) |
                 half_result(type, relation, pairs.a[i] >> 16, pairs.b[i] >> 16, yes, ftz) << 16;
        },
        [&](std::size_t i) { return fmt::format("{:#x} {:#x}", pairs.a[i], pairs.b[i]); });
  }
}

}  // namespace

TEST_CASE("set compares each half of a packed pair") {
  const PairType f16{"f16x2", slow_f16(), 0x3C00, 0x7C00}, bf16{"bf16x2", slow_bf16(), 0x3F80, 0x7F80};
  check(f16, "f16x2", 0x3C00, false);
  check(f16, "u32", 0xFFFF, false);
  check(f16, "s32", 0xFFFF, false);
  check(f16, "f16x2", 0x3C00, true);
  check(bf16, "bf16x2", 0x3F80, false);
  check(bf16, "u32", 0xFFFF, false);
}

TEST_CASE("set of a packed pair combines both halves with one predicate") {
  const std::vector<std::uint32_t> a{0x3C003C00u, 0x00003C00u}, b{0x3C000000u, 0x3C003C00u}, p{1u, 0u};
  const std::string set_p = "setp.ne.u32 %p1, in2, 0; ";
  const auto run = [&](const std::string& how) {
    return stream<std::uint32_t>(set_p + "set.eq." + how + ".u32.f16x2 out, in0, in1, %p1", a, b, p);
  };
  CHECK(run("and") == std::vector<std::uint32_t>{0xFFFF0000u, 0u});
  CHECK(run("or") == std::vector<std::uint32_t>{0xFFFFFFFFu, 0x0000FFFFu});
  CHECK(run("xor") == std::vector<std::uint32_t>{0x0000FFFFu, 0x0000FFFFu});
  CHECK(stream<std::uint32_t>("setp.ne.u32 %p1, in2, 0; set.eq.or.u32.f16x2 out, in0, in1, !%p1", a, b, p) ==
        std::vector<std::uint32_t>{0xFFFF0000u, 0xFFFFFFFFu});
}

TEST_CASE("set to a type that does not go with packed pairs is refused") {
  for (const std::string text : {"set.eq.f32.f16x2 %f0, %r1, %r2;", "set.eq.bf16x2.f16x2 %r0, %r1, %r2;",
                                 "set.eq.f16x2.f32 %r0, %f1, %f2;"}) {
    INFO(text);
    CHECK(refusal(text).status == ak::Status::unsupported);
  }
}

}  // namespace ak::emulator::test
