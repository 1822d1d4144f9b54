// SPDX-License-Identifier: Apache-2.0
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include <bit>
#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>

#include "tests/emulator/ops/lane_stream.h"

namespace {

using namespace ak::emulator;
using namespace ak::emulator::test;
using Words = std::vector<std::uint32_t>;
using Longs = std::vector<std::uint64_t>;

constexpr std::uint32_t kNan = 0x7FFFFFFFu;

struct Mode {
  std::string name;
  int host;
};
const Mode kModes[] = {
    {".rn", FE_TONEAREST}, {".rz", FE_TOWARDZERO}, {".rm", FE_DOWNWARD}, {".rp", FE_UPWARD}};

/// What the host's own arithmetic gives in one of its rounding modes. Volatile keeps the operation between
/// the changes of mode.
template <class T, class F, class... Inputs>
T in_mode(int mode, F f, Inputs... inputs) {
  std::fesetround(mode);
  volatile T result = f(std::bit_cast<T>(inputs)...);
  std::fesetround(FE_TONEAREST);
  return result;
}
const auto kAdd = [](auto a, auto b) {
  volatile auto x = a, y = b;
  return x + y;
};
const auto kSub = [](auto a, auto b) {
  volatile auto x = a, y = b;
  return x - y;
};
const auto kMul = [](auto a, auto b) {
  volatile auto x = a, y = b;
  return x * y;
};
const auto kDiv = [](auto a, auto b) {
  volatile auto x = a, y = b;
  return x / y;
};
const auto kRcp = [](auto a) {
  volatile auto x = a;
  return decltype(a){1} / x;
};
const auto kSqrt = [](auto a) {
  volatile auto x = a;
  return std::sqrt(x);
};
const auto kFma = [](auto a, auto b, auto c) {
  volatile auto x = a, y = b, z = c;
  return std::fma(x, y, z);
};

std::uint32_t canonical(float x) { return std::isnan(x) ? kNan : std::bit_cast<std::uint32_t>(x); }
std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
std::uint32_t flushed(std::uint32_t x) { return (x & 0x7F800000u) == 0 ? x & 0x80000000u : x; }

/// Zeros, subnormals, the edges of the range, ones and their neighbours, infinities, NaNs.
const Words kSpecial = {0x00000000, 0x00000001, 0x00000003, 0x007FFFFF, 0x00800000, 0x00800001, 0x33800000,
                        0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x40400000, 0x4B7FFFFF, 0x7E800001, 0x7F7FFFFF,
                        0x7F800000, 0x7F800001, 0x7FC01234, 0x3EAAAAAB, 0x1FC00000, 0x5F000001};

struct Triples {
  Words a, b, c;
};
/// Specials against each other with both signs, then numbers at random: any bits, and near each other so that
/// sums cancel and products round.
const Triples& triples() {
  static const Triples made = [] {
    Triples t;
    const auto push = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
      t.a.push_back(a);
      t.b.push_back(b);
      t.c.push_back(c);
    };
    std::mt19937 engine(7);
    const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
    for (const std::uint32_t a : kSpecial)
      for (const std::uint32_t b : kSpecial)
        for (std::uint32_t signs = 0; signs < 8; ++signs)
          push(a | signs << 31, b | (signs >> 1) << 31,
               kSpecial[random() % kSpecial.size()] | (signs >> 2) << 31);
    for (int i = 0; i < 20000; ++i) push(random(), random(), random());
    for (int i = 0; i < 20000; ++i) {
      const auto near_one = [&] { return 0x3F000000u + (random() & 0x80FFFFFFu); };
      const std::uint32_t a = near_one(), b = near_one();
      const float product = std::bit_cast<float>(a) * std::bit_cast<float>(b);
      push(a, b, bits(-product) + random() % 3 - 1);  // the sum is what the product lost
    }
    return t;
  }();
  return made;
}

std::string show(std::size_t i) {
  return fmt::format("{:#x}, {:#x}, {:#x}", triples().a[i], triples().b[i], triples().c[i]);
}

template <class F>
void check_unary(const std::string& opcode, F f) {
  for (const Mode& mode : kModes) {
    const std::string instruction = opcode + mode.name + ".f32 out, in0";
    expect_all(
        instruction, stream<std::uint32_t>(instruction, triples().a),
        [&](std::size_t i) { return canonical(in_mode<float>(mode.host, f, triples().a[i])); }, show);
  }
}
template <class F>
void check_binary(const std::string& opcode, F f) {
  const Triples& t = triples();
  for (const Mode& mode : kModes) {
    const std::string instruction = opcode + mode.name + ".f32 out, in0, in1";
    expect_all(
        instruction, stream<std::uint32_t>(instruction, t.a, t.b),
        [&](std::size_t i) { return canonical(in_mode<float>(mode.host, f, t.a[i], t.b[i])); }, show);
  }
}

TEST_CASE("f32 arithmetic rounds once in every direction and makes the canonical NaN") {
  check_binary("add", kAdd);
  check_binary("sub", kSub);
  check_binary("mul", kMul);
  check_binary("div", kDiv);
  check_unary("rcp", kRcp);
  check_unary("sqrt", kSqrt);
}

TEST_CASE("fma.f32 rounds once in every direction, and mad is the same") {
  const Triples& t = triples();
  for (const std::string opcode : {"fma", "mad"}) {
    for (const Mode& mode : kModes) {
      const std::string instruction = opcode + mode.name + ".f32 out, in0, in1, in2";
      expect_all(
          instruction, stream<std::uint32_t>(instruction, t.a, t.b, t.c),
          [&](std::size_t i) { return canonical(in_mode<float>(mode.host, kFma, t.a[i], t.b[i], t.c[i])); },
          show);
    }
  }
}

TEST_CASE("Without a rounding add, sub and mul round to nearest") {
  const Words a = {0x3F800000}, tiny = {0x33800000};  // 1 + 2^-24 is a tie
  CHECK(stream<std::uint32_t>("add.f32 out, in0, in1", a, tiny)[0] == 0x3F800000);
  CHECK(stream<std::uint32_t>("add.rp.f32 out, in0, in1", a, tiny)[0] == 0x3F800001);
  CHECK(stream<std::uint32_t>("sub.f32 out, in0, in1", a, tiny)[0] == 0x3F7FFFFF);
  CHECK(stream<std::uint32_t>("mul.f32 out, in0, in1", tiny, tiny)[0] == bits(0x1p-48f));
}

#ifdef __SSE__
/// The host flushes as a GPU does: what is below the smallest normal number when rounded to 24 bits.
class FlushToZero {
 public:
  FlushToZero() { _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON); }
  ~FlushToZero() { _MM_SET_FLUSH_ZERO_MODE(saved_); }
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;

 private:
  unsigned saved_ = _MM_GET_FLUSH_ZERO_MODE();
};

TEST_CASE("The ftz modifier flushes subnormal inputs and results to zeros of their sign") {
  const Triples& t = triples();
  for (const Mode& mode : kModes) {
    const std::string add = "add" + mode.name + ".ftz.f32 out, in0, in1";
    expect_all(
        add, stream<std::uint32_t>(add, t.a, t.b),
        [&](std::size_t i) {
          const FlushToZero host;
          return flushed(canonical(in_mode<float>(mode.host, kAdd, flushed(t.a[i]), flushed(t.b[i]))));
        },
        show);
    const std::string fma = "fma" + mode.name + ".ftz.f32 out, in0, in1, in2";
    expect_all(
        fma, stream<std::uint32_t>(fma, t.a, t.b, t.c),
        [&](std::size_t i) {
          const FlushToZero host;
          return flushed(
              canonical(in_mode<float>(mode.host, kFma, flushed(t.a[i]), flushed(t.b[i]), flushed(t.c[i]))));
        },
        show);
    const std::string div = "div" + mode.name + ".ftz.f32 out, in0, in1";
    expect_all(
        div, stream<std::uint32_t>(div, t.a, t.b),
        [&](std::size_t i) {
          const FlushToZero host;
          return flushed(canonical(in_mode<float>(mode.host, kDiv, flushed(t.a[i]), flushed(t.b[i]))));
        },
        show);
  }
}
#endif

TEST_CASE("The sat modifier clamps to 0 and 1 and turns NaN and -0 into +0") {
  const Words a = {bits(0.25f), bits(1.5f), bits(-1.0f), 0x80000000, 0x7FC00000, 0x7F800000, 0xFF800000};
  const Words zero(a.size(), 0x80000000);
  const Words expected = {bits(0.25f), bits(1.0f), 0, 0, 0, bits(1.0f), 0};
  CHECK(stream<std::uint32_t>("add.sat.f32 out, in0, in1", a, zero) == expected);
  CHECK(stream<std::uint32_t>("add.rz.ftz.sat.f32 out, in0, in1", a, zero) == expected);
  const Words one(a.size(), bits(1.0f));
  CHECK(stream<std::uint32_t>("fma.rm.sat.f32 out, in0, in1, in2", a, one, zero) == expected);
}

TEST_CASE("f32x2 does to both halves what f32 does to one") {
  const Triples& t = triples();
  Longs a, b, c;
  for (std::size_t i = 0; i + 1 < t.a.size(); i += 2) {
    a.push_back(t.a[i] | std::uint64_t{t.a[i + 1]} << 32);
    b.push_back(t.b[i] | std::uint64_t{t.b[i + 1]} << 32);
    c.push_back(t.c[i] | std::uint64_t{t.c[i + 1]} << 32);
  }
  for (const std::string form : {".f32", ".rz.f32", ".rm.ftz.f32", ".rn.ftz.f32"}) {
    for (const std::string opcode : {"add", "sub", "mul"}) {
      const auto single = stream<std::uint32_t>(opcode + form + " out, in0, in1", t.a, t.b);
      const auto pairs = stream<std::uint64_t>(opcode + form + "x2 out, in0, in1", a, b);
      expect_all(
          opcode + form + "x2", pairs,
          [&](std::size_t i) { return single[2 * i] | std::uint64_t{single[2 * i + 1]} << 32; },
          [](std::size_t i) { return show(2 * i); });
    }
  }
  const auto single = stream<std::uint32_t>("fma.rp.f32 out, in0, in1, in2", t.a, t.b, t.c);
  const auto pairs = stream<std::uint64_t>("fma.rp.f32x2 out, in0, in1, in2", a, b, c);
  expect_all(
      "fma.rp.f32x2", pairs,
      [&](std::size_t i) { return single[2 * i] | std::uint64_t{single[2 * i + 1]} << 32; },
      [](std::size_t i) { return show(2 * i); });
}

TEST_CASE("Quotients by divisors from 2^126 on are zero with div.approx and correct with div.full") {
  const float huge = 0x1.8p126f, infinity = std::numeric_limits<float>::infinity();
  const Words a = {bits(3.0f), bits(huge), bits(-huge), bits(infinity), bits(1.0f), bits(1.0f)};
  const Words b = {bits(1.5f), bits(huge), bits(huge), bits(huge), bits(0x1p126f), 0};
  CHECK(stream<std::uint32_t>("div.approx.f32 out, in0, in1", a, b) ==
        Words{bits(2.0f), 0, 0x80000000, kNan, bits(0x1p-126f), 0x7F800000});
  CHECK(stream<std::uint32_t>("div.full.f32 out, in0, in1", a, b) ==
        Words{bits(2.0f), bits(1.0f), bits(-1.0f), 0x7F800000, bits(0x1p-126f), 0x7F800000});
  CHECK(stream<std::uint32_t>("div.full.ftz.f32 out, in0, in1", Words{1}, Words{bits(1.0f)})[0] == 0);
}

/// f64 inputs like those of f32, with NaN payloads.
struct DoubleTriples {
  Longs a, b, c;
};
DoubleTriples double_triples() {
  const double infinity = std::numeric_limits<double>::infinity();
  const Longs special = {0,
                         1,
                         bits(0x1p-1022),
                         bits(1.0),
                         bits(1.0) + 1,
                         bits(3.0),
                         bits(0x1p-53),
                         bits(0x1.FFFFFFFFFFFFFp1023),
                         bits(infinity),
                         0x7FF8000000001234ull};
  DoubleTriples t;
  std::mt19937_64 random(11);
  for (const std::uint64_t a : special) {
    for (const std::uint64_t b : special) {
      for (std::uint64_t signs = 0; signs < 8; ++signs) {
        t.a.push_back(a | signs << 63);
        t.b.push_back(b | (signs >> 1) << 63);
        t.c.push_back(special[random() % special.size()] | (signs >> 2) << 63);
      }
    }
  }
  for (int i = 0; i < 2000; ++i) {
    for (Longs* list : {&t.a, &t.b, &t.c})
      list->push_back(i % 2 == 0 ? random() : bits(1.0) + (random() & 0x800FFFFFFFFFFFFFull));
  }
  return t;
}

/// Any NaN stands for all: their payloads have their own test.
Longs with_one_nan(Longs values) {
  for (std::uint64_t& value : values)
    if (std::isnan(std::bit_cast<double>(value))) value = 0x7FF8000000000000ull;
  return values;
}

template <class F>
void check_f64(const std::string& opcode, int inputs, F reference) {
  const DoubleTriples t = double_triples();
  for (const Mode& mode : kModes) {
    const std::string head = opcode + mode.name + ".f64 out, in0";
    Longs got, expected;
    if (inputs == 1) got = stream<std::uint64_t>(head, t.a);
    if (inputs == 2) got = stream<std::uint64_t>(head + ", in1", t.a, t.b);
    if (inputs == 3) got = stream<std::uint64_t>(head + ", in1, in2", t.a, t.b, t.c);
    for (std::size_t i = 0; i < t.a.size(); ++i)
      expected.push_back(bits(double{reference(mode.host, t.a[i], t.b[i], t.c[i])}));
    expected = with_one_nan(expected);
    expect_all(
        head, with_one_nan(got), [&](std::size_t i) { return expected[i]; },
        [&](std::size_t i) { return fmt::format("{:#x}, {:#x}, {:#x}", t.a[i], t.b[i], t.c[i]); });
  }
}

TEST_CASE("f64 arithmetic rounds once in every direction") {
  using U = std::uint64_t;
  check_f64("add", 2, [](int mode, U a, U b, U) { return in_mode<double>(mode, kAdd, a, b); });
  check_f64("sub", 2, [](int mode, U a, U b, U) { return in_mode<double>(mode, kSub, a, b); });
  check_f64("mul", 2, [](int mode, U a, U b, U) { return in_mode<double>(mode, kMul, a, b); });
  check_f64("div", 2, [](int mode, U a, U b, U) { return in_mode<double>(mode, kDiv, a, b); });
  check_f64("fma", 3, [](int mode, U a, U b, U c) { return in_mode<double>(mode, kFma, a, b, c); });
  check_f64("mad", 3, [](int mode, U a, U b, U c) { return in_mode<double>(mode, kFma, a, b, c); });
  check_f64("rcp", 1, [](int mode, U a, U, U) { return in_mode<double>(mode, kRcp, a); });
  check_f64("sqrt", 1, [](int mode, U a, U, U) { return in_mode<double>(mode, kSqrt, a); });
}

TEST_CASE("One third is rounded down and up to the right doubles, and the host keeps its mode") {
  const Longs three = {bits(3.0)};
  CHECK(stream<std::uint64_t>("rcp.rm.f64 out, in0", three)[0] == 0x3FD5555555555555ull);
  CHECK(stream<std::uint64_t>("rcp.rp.f64 out, in0", three)[0] == 0x3FD5555555555556ull);
  CHECK(std::fegetround() == FE_TONEAREST);
}

TEST_CASE("f64 arithmetic passes on the payload of the first NaN, quiet") {
  const Longs nan = {0x7FF4000000000ABCull}, other = {0xFFF8000000000DEFull}, one = {bits(1.0)};
  CHECK(stream<std::uint64_t>("add.f64 out, in0, in1", nan, other)[0] == 0x7FFC000000000ABCull);
  CHECK(stream<std::uint64_t>("add.f64 out, in0, in1", one, other)[0] == other[0]);
  CHECK(stream<std::uint64_t>("fma.rz.f64 out, in0, in1, in2", one, nan, other)[0] == 0x7FFC000000000ABCull);
}

struct ExtremeCase {
  std::string modifiers;
  float a, b, low, high;
};
constexpr float kQuiet = std::numeric_limits<float>::quiet_NaN();

TEST_CASE("min and max order zeros by sign, prefer numbers to NaN, and obey their modifiers") {
  const float tiny = 0x1p-140f;
  for (const ExtremeCase& test : {
           ExtremeCase{"", 1, 2, 1, 2},
           ExtremeCase{"", -1, 2, -1, 2},
           ExtremeCase{"", 0.0f, -0.0f, -0.0f, 0.0f},
           ExtremeCase{"", -0.0f, 0.0f, -0.0f, 0.0f},
           ExtremeCase{"", -0.0f, -0.0f, -0.0f, -0.0f},
           ExtremeCase{"", kQuiet, 3, 3, 3},
           ExtremeCase{"", 3, kQuiet, 3, 3},
           ExtremeCase{"", kQuiet, -kQuiet, kQuiet, kQuiet},
           ExtremeCase{"", tiny, -tiny, -tiny, tiny},
           ExtremeCase{".NaN", kQuiet, 3, kQuiet, kQuiet},
           ExtremeCase{".NaN", 3, kQuiet, kQuiet, kQuiet},
           ExtremeCase{".NaN", 3, 4, 3, 4},
           ExtremeCase{".ftz", tiny, -tiny, -0.0f, 0.0f},
           ExtremeCase{".ftz", tiny, -1, -1, 0.0f},
           ExtremeCase{".xorsign.abs", -3, 2, -2, -3},
           ExtremeCase{".xorsign.abs", -3, -2, 2, 3},
           ExtremeCase{".xorsign.abs", -3, kQuiet, -3, -3},
           ExtremeCase{".NaN.xorsign.abs", -3, kQuiet, kQuiet, kQuiet},
           ExtremeCase{".ftz.xorsign.abs", -tiny, 2, -0.0f, -2},
       }) {
    const Words a = {bits(test.a)}, b = {bits(test.b)};
    INFO(test.modifiers << " " << test.a << " " << test.b);
    CHECK(stream<std::uint32_t>("min" + test.modifiers + ".f32 out, in0, in1", a, b)[0] ==
          canonical(test.low));
    CHECK(stream<std::uint32_t>("max" + test.modifiers + ".f32 out, in0, in1", a, b)[0] ==
          canonical(test.high));
  }
}

TEST_CASE("min and max take three inputs") {
  const Words a = {bits(1.0f), bits(-5.0f), bits(kQuiet), bits(kQuiet)};
  const Words b = {bits(-2.0f), bits(2.0f), bits(4.0f), bits(kQuiet)};
  const Words c = {bits(3.0f), bits(0.0f), bits(-7.0f), bits(-1.0f)};
  CHECK(stream<std::uint32_t>("min.f32 out, in0, in1, in2", a, b, c) ==
        Words{bits(-2.0f), bits(-5.0f), bits(-7.0f), bits(-1.0f)});
  CHECK(stream<std::uint32_t>("max.f32 out, in0, in1, in2", a, b, c) ==
        Words{bits(3.0f), bits(2.0f), bits(4.0f), bits(-1.0f)});
  CHECK(stream<std::uint32_t>("max.abs.f32 out, in0, in1, in2", a, b, c) ==
        Words{bits(3.0f), bits(5.0f), bits(7.0f), bits(1.0f)});
  CHECK(stream<std::uint32_t>("min.NaN.f32 out, in0, in1, in2", a, b, c) ==
        Words{bits(-2.0f), bits(-5.0f), kNan, kNan});
}

TEST_CASE("min and max of f64 order zeros by sign and prefer numbers to NaN") {
  const Longs a = {bits(1.0), bits(0.0), bits(-0.0), 0x7FF8000000000000ull, bits(5.0)};
  const Longs b = {bits(-2.0), bits(-0.0), bits(0.0), bits(5.0), 0xFFF8000000000000ull};
  CHECK(stream<std::uint64_t>("min.f64 out, in0, in1", a, b) ==
        Longs{bits(-2.0), bits(-0.0), bits(-0.0), bits(5.0), bits(5.0)});
  CHECK(stream<std::uint64_t>("max.f64 out, in0, in1", a, b) ==
        Longs{bits(1.0), bits(0.0), bits(0.0), bits(5.0), bits(5.0)});
}

TEST_CASE("abs, neg and copysign change signs") {
  const Words a = {bits(-1.5f), 0x80000001, 0xFFC00001, 0};
  CHECK(stream<std::uint32_t>("abs.f32 out, in0", a) == Words{bits(1.5f), 1, kNan, 0});
  CHECK(stream<std::uint32_t>("abs.ftz.f32 out, in0", a) == Words{bits(1.5f), 0, kNan, 0});
  CHECK(stream<std::uint32_t>("neg.f32 out, in0", a) == Words{bits(1.5f), 1, kNan, 0x80000000});
  CHECK(stream<std::uint32_t>("neg.ftz.f32 out, in0", a) == Words{bits(1.5f), 0, kNan, 0x80000000});
  const Words b = {bits(3.0f), bits(3.0f), bits(-3.0f), bits(-3.0f)};
  CHECK(stream<std::uint32_t>("copysign.f32 out, in0, in1", a, b) ==
        Words{bits(-3.0f), bits(-3.0f), bits(-3.0f), bits(3.0f)});
  const Longs wide = {bits(-1.5), bits(2.0)}, other = {bits(7.0), bits(-7.0)};
  CHECK(stream<std::uint64_t>("abs.f64 out, in0", wide) == Longs{bits(1.5), bits(2.0)});
  CHECK(stream<std::uint64_t>("neg.f64 out, in0", wide) == Longs{bits(1.5), bits(-2.0)});
  CHECK(stream<std::uint64_t>("copysign.f64 out, in0, in1", wide, other) == Longs{bits(-7.0), bits(7.0)});
}

TEST_CASE("testp tells the classes of numbers apart, zero being normal") {
  // Zero, subnormal, smallest normal, -1, largest, infinities, NaN.
  const Words a = {0, 0x807FFFFF, 0x00800000, bits(-1.0f), 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0xFFC00000};
  const Longs wide = {0,
                      0x800FFFFFFFFFFFFFull,
                      0x0010000000000000ull,
                      bits(-1.0),
                      0x7FEFFFFFFFFFFFFFull,
                      0x7FF0000000000000ull,
                      0xFFF0000000000000ull,
                      0xFFF8000000000000ull};
  const std::pair<std::string, Words> expected[] = {
      {"finite", {1, 1, 1, 1, 1, 0, 0, 0}}, {"infinite", {0, 0, 0, 0, 0, 1, 1, 0}},
      {"number", {1, 1, 1, 1, 1, 1, 1, 0}}, {"notanumber", {0, 0, 0, 0, 0, 0, 0, 1}},
      {"normal", {1, 0, 1, 1, 1, 0, 0, 0}}, {"subnormal", {0, 1, 0, 0, 0, 0, 0, 0}}};
  for (const auto& [property, truth] : expected) {
    INFO(property);
    const std::string select = " %p0, in0;\nselp.u32 out, 1, 0, %p0";
    CHECK(stream<std::uint32_t>("testp." + property + ".f32" + select, a) == truth);
    CHECK(stream<std::uint32_t>("testp." + property + ".f64" + select, wide) == truth);
  }
}

TEST_CASE("Float instructions that PTX does not have are refused") {
  for (const std::string instruction :
       {"add.sat.f64 %fd0, %fd1, %fd2;", "add.ftz.f64 %fd0, %fd1, %fd2;", "div.sat.rn.f32 %f0, %f1, %f2;",
        "min.NaN.f64 %fd0, %fd1, %fd2;", "min.xorsign.abs.f32 %f0, %f1, %f2, %f3;",
        "div.approx.f64 %fd0, %fd1, %fd2;", "mul.sat.f32x2 %rd0, %rd1, %rd2;", "min.f32x2 %rd0, %rd1, %rd2;",
        "fma.rn.relu.f32 %f0, %f1, %f2, %f3;", "testp.f32 %p0, %f1;"}) {
    INFO(instruction);
    (void)refusal(instruction);
  }
}

}  // namespace
