// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "tests/emulator/ops/lane_stream.h"

namespace ak::emulator::test {
namespace {

using VideoWords = std::vector<std::uint32_t>;
using Operation = std::function<std::int64_t(std::int64_t, std::int64_t)>;

struct Inputs {
  VideoWords a, b, c;
};

/// VideoWords whose bytes and halves are at the ends of their ranges, and any others.
Inputs make_inputs() {
  std::mt19937 random(7);
  constexpr std::uint32_t kEnds[] = {0u,          1u,          0x7F80FF01u, 0x80007FFFu, 0xFFFFFFFFu,
                                     0x80000000u, 0x7FFFFFFFu, 0x01FE8000u, 0x00FF00FFu};
  Inputs inputs;
  for (const std::uint32_t a : kEnds) {
    for (const std::uint32_t b : kEnds) {
      inputs.a.push_back(a);
      inputs.b.push_back(b);
      inputs.c.push_back(a * 3 + b);
    }
  }
  for (int i = 0; i < 2000; ++i) {
    inputs.a.push_back(static_cast<std::uint32_t>(random()));
    inputs.b.push_back(static_cast<std::uint32_t>(random()));
    inputs.c.push_back(static_cast<std::uint32_t>(random()));
  }
  return inputs;
}

/// `bits` bits of `word` from bit `at` on.
std::int64_t field(std::uint64_t word, int at, int bits, bool negative_allowed) {
  std::int64_t value = 0;
  for (int i = 0; i < bits; ++i) value += static_cast<std::int64_t>(word >> (at + i) & 1u) << i;
  return negative_allowed && (word >> (at + bits - 1) & 1u) != 0 ? value - (std::int64_t{1} << bits) : value;
}

std::int64_t limited(std::int64_t value, int bits, bool is_signed) {
  const std::int64_t most = (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  const std::int64_t least = is_signed ? -most - 1 : 0;
  return value < least ? least : value > most ? most : value;
}

std::uint32_t replaced(std::uint32_t word, int at, int bits, std::int64_t value) {
  for (int i = 0; i < bits; ++i) {
    const std::uint32_t bit = 1u << (at + i);
    word = (value >> i & 1) != 0 ? word | bit : word & ~bit;
  }
  return word;
}

void check(const std::string& text,
           const std::function<std::uint32_t(std::uint32_t, std::uint32_t, std::uint32_t)>& expected) {
  const Inputs inputs = make_inputs();
  expect_all(
      text, stream<std::uint32_t>(text, inputs.a, inputs.b, inputs.c),
      [&](std::size_t i) { return expected(inputs.a[i], inputs.b[i], inputs.c[i]); },
      [&](std::size_t i) { return fmt::format("{:#x} {:#x} {:#x}", inputs.a[i], inputs.b[i], inputs.c[i]); });
}

struct Named {
  std::string name;
  Operation of;
};
const std::vector<Named>& operations() {
  using Value = std::int64_t;
  static const std::vector<Named> all = {
      {"vadd", [](Value a, Value b) { return a + b; }},
      {"vsub", [](Value a, Value b) { return a - b; }},
      {"vabsdiff", [](Value a, Value b) { return a > b ? a - b : b - a; }},
      {"vmin", [](Value a, Value b) { return a < b ? a : b; }},
      {"vmax", [](Value a, Value b) { return a < b ? b : a; }},
  };
  return all;
}

const std::vector<Named>& vector_operations() {
  static const std::vector<Named> all = [] {
    std::vector<Named> more = operations();
    more.push_back({"vavrg", [](std::int64_t a, std::int64_t b) {
                      const std::int64_t twice = a + b + (a + b >= 0 ? 1 : 0);
                      return (twice - (twice % 2 != 0 && twice < 0 ? 1 : 0)) / 2;
                    }});
    return more;
  }();
  return all;
}

std::string sign(bool is_signed) { return is_signed ? ".s32" : ".u32"; }

}  // namespace

TEST_CASE("scalar video instructions extend, operate, saturate, and then operate again or merge") {
  for (const Named& operation : operations()) {
    for (int signs = 0; signs < 8; ++signs) {
      const bool d = (signs & 1) != 0, a = (signs & 2) != 0, b = (signs & 4) != 0;
      const std::string name = operation.name + sign(d) + sign(a) + sign(b);
      const auto primary = [&](std::uint32_t x, std::uint32_t y) {
        return operation.of(field(x, 8, 8, a), field(y, 16, 16, b));
      };
      check(name + " out, in0.b1, in1.h1", [&](std::uint32_t x, std::uint32_t y, std::uint32_t) {
        return static_cast<std::uint32_t>(primary(x, y));
      });
      check(name + ".sat out, in0, in1", [&](std::uint32_t x, std::uint32_t y, std::uint32_t) {
        return static_cast<std::uint32_t>(
            limited(operation.of(field(x, 0, 32, a), field(y, 0, 32, b)), 32, d));
      });
      check(name + ".add out, in0.b1, in1.h1, in2", [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
        return static_cast<std::uint32_t>(primary(x, y)) + z;
      });
      check(name + ".sat.max out, in0.b1, in1.h1, in2",
            [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
              return static_cast<std::uint32_t>(std::max(limited(primary(x, y), 32, d), field(z, 0, 32, d)));
            });
      check(name + ".sat out.b3, in0.b1, in1.h1, in2",
            [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
              return replaced(z, 24, 8, limited(primary(x, y), 8, d));
            });
      check(name + " out.h1, in0.b1, in1.h1, in2", [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
        return replaced(z, 16, 16, primary(x, y));
      });
    }
  }
}

TEST_CASE("video instructions on vectors select, mask, merge and accumulate") {
  for (const Named& operation : vector_operations()) {
    for (const int elements : {2, 4}) {
      const int bits = 32 / elements;
      for (const bool d : {false, true}) {
        for (const bool from : {false, true}) {
          const std::string name =
              operation.name + std::to_string(elements) + sign(d) + sign(from) + sign(from);
          const auto element = [&](std::uint32_t x, std::uint32_t y, int i) {
            return operation.of(field(x, i * bits, bits, from), field(y, i * bits, bits, from));
          };
          check(name + ".sat out, in0, in1, in2", [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
            for (int i = 0; i < elements; ++i)
              z = replaced(z, i * bits, bits, limited(element(x, y, i), bits, d));
            return z;
          });
          check(name + ".add out, in0, in1, in2", [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
            for (int i = 0; i < elements; ++i) z += static_cast<std::uint32_t>(element(x, y, i));
            return z;
          });
          // Elements of both registers in any order, into the upper part only.
          const std::string chosen =
              elements == 2 ? " out.h1, in0.h20, in1.h13, in2" : " out.b31, in0.b7012, in1.b0653, in2";
          const std::vector<int> a_parts =
              elements == 2 ? std::vector<int>{0, 2} : std::vector<int>{2, 1, 0, 7};
          const std::vector<int> b_parts =
              elements == 2 ? std::vector<int>{3, 1} : std::vector<int>{3, 5, 6, 0};
          check(name + chosen, [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
            const std::uint64_t both = std::uint64_t{y} << 32 | x;
            for (int i = 1; i < elements; i += 2) {
              const auto at = static_cast<std::size_t>(i);
              z = replaced(z, i * bits, bits,
                           operation.of(field(both, a_parts[at] * bits, bits, from),
                                        field(both, b_parts[at] * bits, bits, from)));
            }
            return z;
          });
        }
      }
    }
  }
}

TEST_CASE("video shifts clamp or wrap their count") {
  const auto count = [](std::uint32_t y) { return field(y, 8, 8, false); };
  check("vshl.u32.u32.u32.clamp out, in0, in1.b1",
        [&](std::uint32_t x, std::uint32_t y, std::uint32_t) { return count(y) >= 32 ? 0 : x << count(y); });
  check("vshl.s32.u32.u32.wrap.add out, in0.h1, in1.b1, in2",
        [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
          return static_cast<std::uint32_t>(field(x, 16, 16, false) << count(y) % 32) + z;
        });
  check("vshr.s32.s32.u32.clamp out, in0, in1.b1", [&](std::uint32_t x, std::uint32_t y, std::uint32_t) {
    const auto value = static_cast<std::int32_t>(x);
    return static_cast<std::uint32_t>(count(y) >= 32 ? (value < 0 ? -1 : 0) : value >> count(y));
  });
  check("vshr.u32.u32.u32.sat.wrap out.b0, in0, in1.b1, in2",
        [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
          return replaced(z, 0, 8, limited(x >> count(y) % 32, 8, false));
        });
}

TEST_CASE("vset gives one or zero") {
  check("vset.s32.u32.lt out, in0, in1", [](std::uint32_t x, std::uint32_t y, std::uint32_t) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(x) < std::int64_t{y});
  });
  check("vset.u32.u32.eq.add out, in0.b0, in1.b0, in2",
        [](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
          return z + static_cast<std::uint32_t>((x & 0xFFu) == (y & 0xFFu));
        });
  check("vset4.s32.s32.ge.add out, in0, in1, in2", [](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    for (int i = 0; i < 4; ++i)
      z += static_cast<std::uint32_t>(field(x, 8 * i, 8, true) >= field(y, 8 * i, 8, true));
    return z;
  });
  check("vset2.u32.u32.ne out, in0, in1, in2", [](std::uint32_t x, std::uint32_t y, std::uint32_t) {
    return static_cast<std::uint32_t>((x & 0xFFFFu) != (y & 0xFFFFu)) |
           static_cast<std::uint32_t>((x >> 16) != (y >> 16)) << 16;
  });
}

TEST_CASE("vmad multiplies, adds and scales with more bits than a register has") {
  const auto low = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  check("vmad.s32.s32.s32 out, in0.h0, in1.b3, in2", [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    return low(field(x, 0, 16, true) * field(y, 24, 8, true) + field(z, 0, 32, true));
  });
  check("vmad.s32.s32.s32.sat.shr15 out, in0.h0, in1.h1, -in2",
        [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
          const std::int64_t minus = field(~z, 0, 32, true) + 1;
          return low(limited((field(x, 0, 16, true) * field(y, 16, 16, true) + minus) >> 15, 32, true));
        });
  check("vmad.u32.u32.u32.po.shr7 out, in0.b0, in1.b1, in2",
        [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
          return low((field(x, 0, 8, false) * field(y, 8, 8, false) + std::int64_t{z} + 1) >> 7);
        });
  check("vmad.s32.u32.u32 out, -in0.h0, in1.h0, in2", [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    return low(-(field(x, 0, 16, false) * field(y, 0, 16, false)) + field(z, 0, 32, true));
  });
  check("vmad.u32.u32.u32.sat out, in0, in1, in2", [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    const std::uint64_t product = std::uint64_t{x} * y;
    return product > 0xFFFFFFFFu || product + z > 0xFFFFFFFFu ? 0xFFFFFFFFu
                                                              : static_cast<std::uint32_t>(product + z);
  });
}

TEST_CASE("video instructions that do not exist are refused, and parts of registers elsewhere") {
  for (const std::string text :
       {"vadd.u32.u32.u64 %r0, %r1, %r2;", "vadd.u32.u32.u32 %r0, %r1.h2, %r2;",
        "vadd.u32.u32.u32.add %r0.b0, %r1, %r2, %r3;", "vadd2.u32.u32.u32.min %r0, %r1, %r2, %r3;",
        "vadd4.u32.u32.u32 %r0, %r1.h10, %r2, %r3;", "vavrg.u32.u32.u32 %r0, %r1, %r2;",
        "vshl.u32.u32.u32 %r0, %r1, %r2;", "vmad.u32.u32.u32.po %r0, -%r1, %r2, %r3;",
        "add.u32 %r0, %r1.b0, %r2;"}) {
    INFO(text);
    CHECK(refusal(text).status == ak::Status::unsupported);
  }
}

}  // namespace ak::emulator::test
