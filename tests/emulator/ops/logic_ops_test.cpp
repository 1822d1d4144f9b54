// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

using Quads = std::vector<std::uint64_t>;

/// Two 64-bit numbers per lane.
Quads inputs() {
  Quads values;
  for (std::uint64_t i = 0; i < 64; ++i) values.push_back((i + 1) * 0x9E3779B97F4A7C15ull);
  return values;
}

/// What the lanes hold in %rd2, %rd3 after `instructions`, which find their inputs there.
Quads after(const std::string& instructions) {
  PtxKernel kernel = PtxKernel::body(
      ".reg .b128 %q<2>; .reg .b8 %b<8>;\nmov.u32 %r99, %tid.x; mad.wide.u32 %rd80, %r99, 16, %rd90;\n"
      "mad.wide.u32 %rd81, %r99, 16, %rd91; ld.global.v2.b64 {%rd2, %rd3}, [%rd80];\n" +
      instructions + "\nst.global.v2.b64 [%rd81], {%rd2, %rd3};\n");
  const std::uint64_t to = kernel.memory(64 * 8);
  kernel.run(1, 32, kernel.upload(inputs()), to);
  return kernel.download<std::uint64_t>(to, 64);
}

template <class F>
Quads expected(F f, std::uint32_t lanes = ~0u) {
  Quads values = inputs();
  for (std::size_t i = 0; i < 32; ++i)
    if ((lanes >> i & 1u) != 0) f(values[2 * i], values[2 * i + 1]);
  return values;
}

std::uint64_t reversed(std::uint64_t value, int bits, int part) {
  std::uint64_t result = 0;
  for (int at = 0; at < bits; at += part)
    result |= (value >> at & ((1ull << part) - 1)) << (bits - part - at);
  return result;
}

struct Case {
  std::string instructions;
  int bits, part;
};

TEST_CASE("mov takes registers apart and puts them together") {
  const Case cases[] = {
      {"mov.b64 {%r0, %r1}, %rd2; mov.b64 %rd2, {%r1, %r0};", 64, 32},
      {"mov.b64 {%rs0, %rs1, %rs2, %rs3}, %rd2; mov.b64 %rd2, {%rs3, %rs2, %rs1, %rs0};", 64, 16},
      {"cvt.u32.u64 %r0, %rd2; mov.b32 {%rs0, %rs1}, %r0; mov.b32 %r0, {%rs1, %rs0}; cvt.u64.u32 %rd2, %r0;",
       32, 16},
      {"cvt.u32.u64 %r0, %rd2; mov.b32 {%b0, %b1, %b2, %b3}, %r0; mov.b32 %r0, {%b3, %b2, %b1, %b0};\n"
       "cvt.u64.u32 %rd2, %r0;",
       32, 8},
      {"cvt.u16.u64 %rs0, %rd2; mov.b16 {%b0, %b1}, %rs0; mov.b16 %rs0, {%b1, %b0}; cvt.u64.u16 %rd2, %rs0;",
       16, 8}};
  for (const Case& c : cases) {
    INFO(c.instructions);
    CHECK(after(c.instructions) == expected([&](std::uint64_t& value, std::uint64_t&) {
            value = reversed(value & (~0ull >> (64 - c.bits)), c.bits, c.part);
          }));
  }
  CHECK(after("mov.b128 %q0, {%rd3, %rd2}; mov.b128 {%rd2, %rd3}, %q0;") ==
        expected([](std::uint64_t& low, std::uint64_t& high) { std::swap(low, high); }));
}

TEST_CASE("mov of packed registers leaves lanes outside the guard alone") {
  CHECK(after("setp.lt.u32 %p0, %r99, 7; @%p0 mov.b64 {%r0, %r1}, %rd2; @%p0 mov.b64 %rd2, {%r1, %r0};") ==
        expected([](std::uint64_t& value, std::uint64_t&) { value = value << 32 | value >> 32; }, 0x7F));
}

TEST_CASE("mov into elements of which one is the source is refused") {
  CHECK(refusal("mov.b32 {%r0, %r1}, %r0;").status == Status::unsupported);
}

}  // namespace
}  // namespace ak::emulator::test
