// SPDX-License-Identifier: Apache-2.0
// mma with a kind, against sums in double over the layouts that PTX documents.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "emulator/numbers/small_floats.h"
#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

using ScaledWords = std::vector<std::uint32_t>;
constexpr int kRows = 16, kColumns = 8, kScaledThreads = 32;

struct Format {
  std::string name;
  int bits, shift, exponent_bits, mantissa_bits, bias;  ///< shift: in a byte of its own
};
const Format kE4m3Format{"e4m3", 8, 0, 4, 3, 7}, kE5m2Format{"e5m2", 8, 0, 5, 2, 15},
    kE3m2Format{"e3m2", 6, 0, 3, 2, 3}, kE2m3Format{"e2m3", 6, 0, 2, 3, 1},
    kE2m1Format{"e2m1", 4, 2, 2, 1, 1};

double number(const Format& format, std::uint32_t code) {
  const double mantissa = std::ldexp(code & ((1u << format.mantissa_bits) - 1), -format.mantissa_bits);
  const int exponent = static_cast<int>(code >> format.mantissa_bits & ((1u << format.exponent_bits) - 1));
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - format.bias)
                                         : std::ldexp(1 + mantissa, exponent - format.bias);
  return (code >> (format.bits - 1) & 1u) != 0 ? -magnitude : magnitude;
}

/// A form of the instruction, and how many bytes of a scale register a row or column has.
struct Form {
  std::string spelling;
  int k;
  Format a, b;
  bool packed;  ///< two elements a byte
  int scales = 0;
  bool scales_are_e4m3 = false;
  int byte = 0, thread_a = 0, thread_b = 0;
  bool half_sums = false;
  bool f16_sums = false;
};

struct Problem {
  std::vector<std::uint32_t> a, b;  ///< codes: row-major m x k and k x n
  std::vector<float> c;
  std::vector<std::uint32_t> scales_a, scales_b;  ///< codes: by row or column, then block
};

/// Numbers of like size, so that sums in double are exact.
std::uint32_t random_code(const Format& format, std::mt19937& random) {
  for (;;) {
    const auto code = static_cast<std::uint32_t>(random() % (1u << format.bits));
    const double size = std::fabs(number(format, code));
    if (size == 0 || (size > 1.0 / 64 && size < 64)) return code;
  }
}

Problem random_problem(const Form& form, std::mt19937& random) {
  Problem problem;
  for (int i = 0; i < kRows * form.k; ++i) problem.a.push_back(random_code(form.a, random));
  for (int i = 0; i < form.k * kColumns; ++i) problem.b.push_back(random_code(form.b, random));
  for (int i = 0; i < kRows * kColumns; ++i) problem.c.push_back(static_cast<float>(random() % 17) - 8);
  const auto scale = [&] {
    return static_cast<std::uint32_t>(form.scales_are_e4m3 ? 0x28 + random() % 0x20 : 122 + random() % 10);
  };
  for (int i = 0; i < kRows * form.scales; ++i) problem.scales_a.push_back(scale());
  for (int i = 0; i < kColumns * form.scales; ++i) problem.scales_b.push_back(scale());
  return problem;
}

double scale_value(const Form& form, std::uint32_t code) {
  return form.scales_are_e4m3 ? number(kE4m3Format, code) : std::ldexp(1.0, static_cast<int>(code) - 127);
}

std::vector<double> expected(const Form& form, const Problem& problem) {
  std::vector<double> sums(problem.c.begin(), problem.c.end());
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      for (int p = 0; p < form.k; ++p) {
        double product = number(form.a, problem.a[static_cast<std::size_t>(row * form.k + p)]) *
                         number(form.b, problem.b[static_cast<std::size_t>(p * kColumns + column)]);
        if (form.scales != 0) {
          const int block = p * form.scales / form.k;
          product *=
              scale_value(form, problem.scales_a[static_cast<std::size_t>(row * form.scales + block)]) *
              scale_value(form, problem.scales_b[static_cast<std::size_t>(column * form.scales + block)]);
        }
        sums[static_cast<std::size_t>(row * kColumns + column)] += product;
      }
    }
  }
  return sums;
}

// ---- fragments (PTX ISA 9.0, "Matrix fragments for mma.m16n8k32" and "m16n8k64")

void put(ScaledWords& words, int index, bool packed, std::uint32_t code, const Format& format) {
  const int bit = packed ? index * 4 : index * 8 + format.shift;
  words[static_cast<std::size_t>(bit / 32)] |= code << (bit % 32);
}

/// Of each lane: 4 registers of A, or 2.
ScaledWords fragment_of_a(const Form& form, const Problem& problem) {
  const int per_register = form.packed ? 8 : 4, per_lane = kRows * form.k / kScaledThreads;
  ScaledWords words(static_cast<std::size_t>(kScaledThreads * per_lane / per_register));
  for (int lane = 0; lane < kScaledThreads; ++lane) {
    const int group = lane / 4, thread = lane % 4;
    for (int i = 0; i < per_lane; ++i) {
      const int which = i / per_register;
      const int row = group + (which % 2 == 1 ? 8 : 0);
      const int column = thread * per_register + i % per_register + which / 2 * 4 * per_register;
      put(words, lane * per_lane + i, form.packed, problem.a[static_cast<std::size_t>(row * form.k + column)],
          form.a);
    }
  }
  return words;
}

ScaledWords fragment_of_b(const Form& form, const Problem& problem) {
  const int per_register = form.packed ? 8 : 4, per_lane = kColumns * form.k / kScaledThreads;
  ScaledWords words(static_cast<std::size_t>(kScaledThreads * per_lane / per_register));
  for (int lane = 0; lane < kScaledThreads; ++lane) {
    const int group = lane / 4, thread = lane % 4;
    for (int i = 0; i < per_lane; ++i) {
      const int row = thread * per_register + i % per_register + i / per_register * 4 * per_register;
      put(words, lane * per_lane + i, form.packed,
          problem.b[static_cast<std::size_t>(row * kColumns + group)], form.b);
    }
  }
  return words;
}

/// Other lanes, and other bytes, hold NaN.
ScaledWords scales_of(const Form& form, const std::vector<std::uint32_t>& codes, bool of_a) {
  ScaledWords words(kScaledThreads, 0xFFFFFFFFu);
  const int lines = of_a ? kRows : kColumns;
  for (int line = 0; line < lines; ++line) {
    const int lane = of_a ? line % 8 * 4 + form.thread_a * 2 + line / 8 : line * 4 + form.thread_b;
    for (int i = 0; i < form.scales; ++i) {
      const int shift = 8 * (form.byte + i);
      std::uint32_t& word = words[static_cast<std::size_t>(lane)];
      word = (word & ~(0xFFu << shift)) | codes[static_cast<std::size_t>(line * form.scales + i)] << shift;
    }
  }
  return words;
}

std::string loads(const char* parameter, int first, int count) {
  std::string text = fmt::format("mad.wide.u32 %rd1, %r99, {}, {};\n", 4 * count, parameter);
  for (int i = 0; i < count; ++i) text += fmt::format("ld.global.b32 %r{}, [%rd1+{}];\n", first + i, 4 * i);
  return text;
}

std::string registers(int first, int count) {
  std::string text = fmt::format("%r{}", first);
  for (int i = 1; i < count; ++i) text += fmt::format(", %r{}", first + i);
  return "{" + text + "}";
}

std::string kernel_text(const Form& form) {
  const int of_a = kRows * form.k / kScaledThreads / (form.packed ? 8 : 4), of_b = of_a / 2;
  std::string text = "mov.u32 %r99, %tid.x;\n" + loads("%rd90", 0, of_a) + loads("%rd91", 10, of_b) +
                     loads("%rd92", 20, 4) + loads("%rd93", 30, 1) + loads("%rd94", 31, 1);
  // Sums of halves: packed in front of the product, and unpacked behind it.
  if (form.half_sums) text += "cvt.rn.f16x2.f32 %r40, %r21, %r20;\ncvt.rn.f16x2.f32 %r41, %r23, %r22;\n";
  const std::string sums = form.half_sums ? registers(40, 2) : registers(20, 4);
  text += fmt::format("mov.u16 %rs1, {};\n{} {}, {}, {}, {}", form.byte, form.spelling, sums,
                      registers(0, of_a), registers(10, of_b), sums);
  if (form.scales != 0)
    text += fmt::format(", %r30, {{%rs1, {}}}, %r31, {{{}, {}}}", form.thread_a, form.byte, form.thread_b);
  text += ";\nmad.wide.u32 %rd1, %r99, 16, %rd95;\n";
  for (int i = 0; i < 4 && form.half_sums; ++i) {
    text += fmt::format("mov.b32 {{%rs4, %rs5}}, %r{};\ncvt.f32.f16 %r{}, %rs{};\n", 40 + i / 2, 20 + i,
                        4 + i % 2);
  }
  for (int i = 0; i < 4; ++i) text += fmt::format("st.global.b32 [%rd1+{}], %r{};\n", 4 * i, 20 + i);
  return text;
}

/// D, row-major.
std::vector<float> run(const Form& form, const Problem& problem) {
  PtxKernel kernel = PtxKernel::body(kernel_text(form), 6);
  std::vector<float> sums(kScaledThreads * 4);
  const auto place = [](int lane, int i) {
    return static_cast<std::size_t>((lane / 4 + i / 2 * 8) * kColumns + lane % 4 * 2 + i % 2);
  };
  for (int lane = 0; lane < kScaledThreads; ++lane) {
    for (int i = 0; i < 4; ++i) sums[static_cast<std::size_t>(lane * 4 + i)] = problem.c[place(lane, i)];
  }
  const std::uint64_t d = kernel.memory(sums.size() * 4);
  kernel.run(1, kScaledThreads, kernel.upload(fragment_of_a(form, problem)),
             kernel.upload(fragment_of_b(form, problem)), kernel.upload(sums),
             kernel.upload(scales_of(form, problem.scales_a, true)),
             kernel.upload(scales_of(form, problem.scales_b, false)), d);
  const auto got = kernel.download<float>(d, sums.size());
  std::vector<float> result(sums.size());
  for (int lane = 0; lane < kScaledThreads; ++lane) {
    for (int i = 0; i < 4; ++i) result[place(lane, i)] = got[static_cast<std::size_t>(lane * 4 + i)];
  }
  return result;
}

void check(const Form& form, std::mt19937& random) {
  INFO(form.spelling << " byte " << form.byte << " threads " << form.thread_a << " " << form.thread_b);
  const Problem problem = random_problem(form, random);
  const std::vector<double> sums = expected(form, problem);
  std::vector<float> rounded(sums.begin(), sums.end());
  for (float& sum : rounded) sum = form.half_sums ? f16_to_float(float_to_f16(sum)) : sum;
  CHECK(run(form, problem) == rounded);
}

std::string spelling(const std::string& shape, const std::string& kind, const Format& a, const Format& b,
                     const std::string& scale = "") {
  return fmt::format("mma.sync.aligned.{}.row.col.kind::{}.f32.{}.{}.f32{}", shape, kind, a.name, b.name,
                     scale);
}

const Format kFormats[] = {kE4m3Format, kE5m2Format, kE3m2Format, kE2m3Format, kE2m1Format};

}  // namespace

TEST_CASE("mma.kind::f8f6f4 multiplies every pair of formats") {
  std::mt19937 random(1);
  for (const Format& a : kFormats) {
    for (const Format& b : kFormats)
      check({.spelling = spelling("m16n8k32", "f8f6f4", a, b), .k = 32, .a = a, .b = b, .packed = false},
            random);
  }
  check({.spelling = spelling("m16n8k16", "f8f6f4", kE4m3Format, kE5m2Format),
         .k = 16,
         .a = kE4m3Format,
         .b = kE5m2Format,
         .packed = false},
        random);
}

TEST_CASE("mma.kind::f8f6f4 adds up in halves") {
  std::mt19937 random(5);
  check({.spelling = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m3.e2m1.f16",
         .k = 32,
         .a = kE2m3Format,
         .b = kE2m1Format,
         .packed = false,
         .half_sums = true},
        random);
}

TEST_CASE("mma.kind::mxf8f6f4 scales each row and column, by the byte and thread that are selected") {
  std::mt19937 random(2);
  for (int selection = 0; selection < 8; ++selection) {
    for (const Format& a : kFormats) {
      const Format& b = kFormats[static_cast<std::size_t>(selection) % std::size(kFormats)];
      check({.spelling = spelling("m16n8k32", "mxf8f6f4.block_scale.scale_vec::1X", a, b, ".ue8m0"),
             .k = 32,
             .a = a,
             .b = b,
             .packed = false,
             .scales = 1,
             .byte = selection % 4,
             .thread_a = selection / 4,
             .thread_b = (selection + 1) % 4},
            random);
    }
  }
}

TEST_CASE("mma.kind::mxf4 and mxf4nvf4 scale every block of 32 or 16 elements") {
  std::mt19937 random(3);
  for (const char* kind :
       {"mxf4.block_scale", "mxf4.block_scale.scale_vec::2X", "mxf4nvf4.block_scale.scale_vec::2X"}) {
    for (const int byte : {0, 2})
      check({.spelling = spelling("m16n8k64", kind, kE2m1Format, kE2m1Format, ".ue8m0"),
             .k = 64,
             .a = kE2m1Format,
             .b = kE2m1Format,
             .packed = true,
             .scales = 2,
             .byte = byte,
             .thread_a = byte / 2,
             .thread_b = 3 - byte},
            random);
  }
  check({.spelling =
             spelling("m16n8k64", "mxf4nvf4.block_scale.scale_vec::4X", kE2m1Format, kE2m1Format, ".ue4m3"),
         .k = 64,
         .a = kE2m1Format,
         .b = kE2m1Format,
         .packed = true,
         .scales = 4,
         .scales_are_e4m3 = true,
         .thread_a = 1,
         .thread_b = 2},
        random);
}

TEST_CASE("a scale of NaN makes its row NaN, and no other") {
  std::mt19937 random(4);
  const Form form{
      .spelling = spelling("m16n8k32", "mxf8f6f4.block_scale", kE4m3Format, kE4m3Format, ".ue8m0"),
      .k = 32,
      .a = kE4m3Format,
      .b = kE4m3Format,
      .packed = false,
      .scales = 1};
  Problem problem = random_problem(form, random);
  problem.scales_a[5] = 255;
  const std::vector<float> got = run(form, problem);
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::isnan(got[i]) == (i / kColumns == 5));
}

TEST_CASE("selectors that hold no scale, or that differ among the lanes, are a fault") {
  const auto finding = [](const std::string& selectors) {
    PtxKernel kernel = PtxKernel::body(
        "mov.u32 %r99, %tid.x;\ncvt.u16.u32 %rs1, %r99;\nmov.u16 %rs2, 4;\nmov.u16 %rs3, 2;\n"
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 {%f0, %f1, "
        "%f2, %f3}, "
        "{%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3}, %r6, " +
            selectors + ";",
        0);
    LaunchRequest request;
    request.block = {kScaledThreads, 1, 1};
    const LaunchReport report = kernel.run(request);
    return report.findings.all().empty() ? FaultKind::trap : report.findings.all().front().kind;
  };
  CHECK(finding("{%rs1, 0}, %r7, {0, 0}") == FaultKind::invalid_operand);
  CHECK(finding("{%rs2, 0}, %r7, {0, 0}") == FaultKind::invalid_operand);
  CHECK(finding("{0, %rs3}, %r7, {0, 0}") == FaultKind::invalid_operand);
  CHECK(finding("{0, 1}, %r7, {3, 3}") == FaultKind::trap);  // nothing was found
}

TEST_CASE("kinds, shapes, types and scales that do not go together are refused") {
  const std::string four = "{%r0, %r1, %r2, %r3}", two = "{%r4, %r5}", sums = "{%f0, %f1, %f2, %f3}";
  const auto refused = [&](const std::string& text, const std::string& rest = "") {
    return refusal(
               "mma.sync.aligned." + text + " " + sums + ", " + four + ", " + two + ", " + sums + rest + ";",
               0)
               .status == Status::unsupported;
  };
  const std::string scales = ", %r6, {0, 0}, %r7, {0, 0}";
  CHECK(refused("m16n8k32.row.col.f32.e3m2.e4m3.f32"));
  CHECK(refused("m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32"));
  CHECK(refused("m16n8k32.row.col.kind::f8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0", scales));
  CHECK(refused("m16n8k32.row.col.kind::mxf8f6f4.f32.e4m3.e4m3.f32"));
  CHECK(refused("m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::2X.f32.e4m3.e4m3.f32.ue8m0", scales));
  CHECK(refused("m16n8k64.row.col.kind::mxf4nvf4.block_scale.f32.e2m1.e2m1.f32.ue4m3", scales));
  CHECK(refused("m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue4m3", scales));
  CHECK(refused("m16n8k64.row.col.kind::mxf4.block_scale.f32.e4m3.e2m1.f32.ue8m0", scales));
}

}  // namespace ak::emulator::test
