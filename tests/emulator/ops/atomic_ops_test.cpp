// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <catch2/catch.hpp>
#include <limits>

#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

/// The word of p0 after one thread has executed `instruction` on it with operands %r1 = b and %r2 = c, and
/// the result %r0.
struct Words {
  std::uint32_t memory, result;
  bool operator==(const Words&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Words& words) {
  return out << std::hex << words.memory << ", was " << words.result;
}
Words after(const std::string& instruction, std::uint32_t old, std::uint32_t b, std::uint32_t c = 0) {
  PtxKernel kernel = PtxKernel::body(
      "ld.param.u32 %r1, [p1]; ld.param.u32 %r2, [p1+4];\n" + instruction + "\nst.global.u32 [%rd90+4], %r0;",
      2);
  const auto at = kernel.upload<std::uint32_t>({old, 0});
  kernel.run(1, 1, at, std::uint64_t{c} << 32 | b);
  const auto words = kernel.download<std::uint32_t>(at, 2);
  return {words[0], words[1]};
}
std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace

TEST_CASE("each atomic operation gives the old value and leaves the new one") {
  CHECK(after("atom.global.add.u32 %r0, [%rd90], %r1;", 5, 0xFFFFFFFF) == Words{4, 5});
  CHECK(after("atom.add.s32 %r0, [%rd90], %r1;", 0x7FFFFFFF, 1) == Words{0x80000000, 0x7FFFFFFF});
  CHECK(after("atom.global.min.s32 %r0, [%rd90], %r1;", 3, 0xFFFFFFFE) == Words{0xFFFFFFFE, 3});
  CHECK(after("atom.global.min.u32 %r0, [%rd90], %r1;", 3, 0xFFFFFFFE) == Words{3, 3});
  CHECK(after("atom.global.max.s32 %r0, [%rd90], %r1;", 3, 0xFFFFFFFE) == Words{3, 3});
  CHECK(after("atom.global.max.u32 %r0, [%rd90], %r1;", 3, 0xFFFFFFFE) == Words{0xFFFFFFFE, 3});
  CHECK(after("atom.global.inc.u32 %r0, [%rd90], %r1;", 6, 7) == Words{7, 6});
  CHECK(after("atom.global.inc.u32 %r0, [%rd90], %r1;", 7, 7) == Words{0, 7});
  CHECK(after("atom.global.dec.u32 %r0, [%rd90], %r1;", 0, 7) == Words{7, 0});
  CHECK(after("atom.global.dec.u32 %r0, [%rd90], %r1;", 9, 7) == Words{7, 9});
  CHECK(after("atom.global.dec.u32 %r0, [%rd90], %r1;", 7, 7) == Words{6, 7});
  CHECK(after("atom.global.and.b32 %r0, [%rd90], %r1;", 0b1100, 0b1010) == Words{0b1000, 0b1100});
  CHECK(after("atom.global.or.b32 %r0, [%rd90], %r1;", 0b1100, 0b1010) == Words{0b1110, 0b1100});
  CHECK(after("atom.global.xor.b32 %r0, [%rd90], %r1;", 0b1100, 0b1010) == Words{0b0110, 0b1100});
  CHECK(after("atom.acq_rel.gpu.global.exch.b32 %r0, [%rd90], %r1;", 1, 2) == Words{2, 1});
  CHECK(after("atom.relaxed.cta.global.cas.b32 %r0, [%rd90], %r1, %r2;", 1, 1, 9) == Words{9, 1});
  CHECK(after("atom.global.cas.b32 %r0, [%rd90], %r1, %r2;", 1, 2, 9) == Words{1, 1});
  CHECK(after("mov.b32 %r0, 0; red.global.add.u32 [%rd90], %r1;", 5, 6) == Words{11, 0});
}

TEST_CASE("float atomics round to nearest, and flush subnormals on global memory only") {
  const float least = std::numeric_limits<float>::denorm_min();
  const std::string global = "mov.b32 %f1, %r1; atom.global.add.f32 %f0, [%rd90], %f1; mov.b32 %r0, %f0;";
  CHECK(after(global, bits(1.0f), bits(0x1p-24f)) == Words{bits(1.0f), bits(1.0f)});
  CHECK(after(global, bits(1.0f), bits(0x1.8p-24f)) == Words{bits(1.0f + 0x1p-23f), bits(1.0f)});
  CHECK(after(global, 0, bits(least)) == Words{0, 0});
  CHECK(after(global, bits(0x1p-126f), bits(-0x1.8p-126f)) == Words{0x80000000u, bits(0x1p-126f)});
  PtxKernel kernel = PtxKernel::body(
      "mov.b32 %f0, 0f00000000; st.shared.f32 [sum], %f0; mov.b32 %f1, 0f00000001;\n"
      "atom.shared.add.f32 %f2, [sum], %f1; mov.u64 %rd0, sum; cvta.shared.u64 %rd0, %rd0;\n"
      "atom.add.f32 %f2, [%rd0], %f1; ld.shared.f32 %f3, [sum]; st.global.f32 [%rd90], %f3;",
      1, ".shared .align 4 .f32 sum;");
  const auto to = kernel.memory(4);
  kernel.run(1, 1, to);
  CHECK(kernel.download<std::uint32_t>(to, 1)[0] == 2);
}

TEST_CASE("half atomics keep subnormals and add both halves") {
  // 1 + 2 and -1 + 1 in f16; the least subnormal twice; 1 + 1 in bf16.
  CHECK(after("atom.global.add.noftz.f16x2 %r0, [%rd90], %r1;", 0xBC003C00, 0x3C004000) ==
        Words{0x00004200, 0xBC003C00});
  CHECK(after("atom.global.add.noftz.f16x2 %r0, [%rd90], %r1;", 0x00010001, 0x00000001) ==
        Words{0x00010002, 0x00010001});
  CHECK(after("atom.global.add.noftz.bf16x2 %r0, [%rd90], %r1;", 0x3F803F80, 0x00003F80) ==
        Words{0x3F804000, 0x3F803F80});
  CHECK(after("mov.b32 %r0, 0; cvt.u16.u32 %rs1, %r1; red.global.add.noftz.f16 [%rd90], %rs1;", 0xAAAA3C00,
              0x3C00) == Words{0xAAAA4000, 0});
}

TEST_CASE("vector atomics act on every element") {
  PtxKernel kernel = PtxKernel::body(
      "mov.b32 %f0, 0f3F800000; mov.b32 %f1, 0f40000000;\n"
      "atom.global.v2.f32.add {%f2, %f3}, [%rd90], {%f0, %f1}; st.global.v2.f32 [%rd90+8], {%f2, %f3};\n"
      "mov.b32 %r0, 0xC0003C00; red.global.v2.f16x2.max.noftz [%rd90+16], {%r0, %r0};",
      1);
  const auto at = kernel.upload<std::uint32_t>({bits(1.0f), bits(1.0f), 0, 0, 0x3C000000, 0xFE004000});
  kernel.run(1, 1, at);
  CHECK(kernel.download<std::uint32_t>(at, 6) ==
        std::vector<std::uint32_t>{bits(2.0f), bits(3.0f), bits(1.0f), bits(1.0f), 0x3C003C00, 0xC0004000});
}

TEST_CASE("lanes act in ascending order, each on what the one before left") {
  PtxKernel kernel = PtxKernel::body(
      "mov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, 4; add.s64 %rd1, %rd91, %rd0;\n"
      "atom.global.add.u32 %r1, [%rd90], %r0; st.global.u32 [%rd1], %r1;");
  const auto sum = kernel.upload<std::uint32_t>({0});
  const auto to = kernel.memory(128);
  kernel.run(1, 32, sum, to);
  const auto before = kernel.download<std::uint32_t>(to, 32);
  for (std::uint32_t i = 0; i < 32; ++i) CHECK(before[i] == i * (i - 1) / 2 * (i > 0));
  CHECK(kernel.download<std::uint32_t>(sum, 1)[0] == 496);
}

TEST_CASE("64 and 128 bits are swapped as one") {
  PtxKernel kernel = PtxKernel::body(
      ".reg .b128 %q<4>; mov.b64 %rd0, 1; mov.b64 %rd1, 2; ld.global.b128 %q0, [%rd90]; ld.global.b128 %q1, "
      "[%rd90+16];\n"
      "atom.global.cas.b128 %q2, [%rd90], %q0, %q1; st.global.b128 [%rd90+16], %q2;\n"
      "atom.global.cas.b64 %rd2, [%rd91], %rd0, %rd1; red.global.add.u64 [%rd91], %rd2;");
  const auto wide = kernel.upload<std::uint64_t>({1, 2, 3, 4});
  const auto narrow = kernel.upload<std::uint64_t>({1});
  kernel.run(1, 1, wide, narrow);
  CHECK(kernel.download<std::uint64_t>(wide, 4) == std::vector<std::uint64_t>{3, 4, 1, 2});
  CHECK(kernel.download<std::uint64_t>(narrow, 1)[0] == 3);
}

TEST_CASE("atomics PTX does not have are refused") {
  const std::string instruction = GENERATE(
      "atom.global.add.f16 %rs0, [%rd90], %rs1;", "atom.global.add.b32 %r0, [%rd90], %r1;",
      "atom.shared.v2.f32.add {%f0, %f1}, [%r0], {%f0, %f1};", "red.global.cas.b32 [%rd90], %r0, %r1;",
      "atom.global.min.f32 %f0, [%rd90], %f1;", "red.async.relaxed.cluster.global.add.u32 [%rd90], %r0;");
  CHECK(refusal(instruction).status == Status::unsupported);
}

}  // namespace ak::emulator::test
