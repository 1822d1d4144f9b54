// SPDX-License-Identifier: Apache-2.0
// ldmatrix and stmatrix of bytes, and of elements that become bytes, against their layouts in words.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr int kRowThreads = 32, kRowBytes = 16;
constexpr const char* kRowTile = ".shared .align 16 .b8 tile[512];";

std::string register_list(int count) {
  std::string text = "%r10";
  for (int i = 1; i < count; ++i) text += fmt::format(", %r{}", 10 + i);
  return "{" + text + "}";
}

// %r1: this lane's row of the tile.
constexpr const char* kRowAddress =
    "mov.u32 %r0, %tid.x;\nmov.u32 %r2, tile;\nmad.lo.u32 %r1, %r0, 16, %r2;\n";

/// The registers after a load from a tile with row i at byte 16 i: byte i of register r in a lane.
Bytes loaded(const std::string& instruction, int registers, const Bytes& tile) {
  std::string text = kRowAddress;
  text +=
      "mad.wide.u32 %rd1, %r0, 16, %rd90;\nld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1];\n"
      "st.shared.v4.u32 [%r1], {%r3, %r4, %r5, %r6};\nbar.warp.sync 0xFFFFFFFF;\n";
  text += instruction + " " + register_list(registers) + ", [%r1];\n";
  text += fmt::format("mad.wide.u32 %rd2, %r0, {}, %rd91;\n", 4 * registers);
  for (int i = 0; i < registers; ++i) text += fmt::format("st.global.u32 [%rd2+{}], %r{};\n", 4 * i, 10 + i);
  PtxKernel kernel = PtxKernel::body(text, 2, kRowTile);
  const std::size_t bytes = static_cast<std::size_t>(kRowThreads) * 4 * static_cast<std::size_t>(registers);
  const std::uint64_t out = kernel.memory(bytes);
  kernel.run(1, kRowThreads, kernel.upload(tile), out);
  return kernel.download<std::uint8_t>(out, bytes);
}

/// The tile after every lane has stored registers that hold `values`.
Bytes stored(const std::string& instruction, int registers, const Bytes& values) {
  std::string text = kRowAddress;
  text += fmt::format("mad.wide.u32 %rd1, %r0, {}, %rd90;\n", 4 * registers);
  for (int i = 0; i < registers; ++i) text += fmt::format("ld.global.u32 %r{}, [%rd1+{}];\n", 10 + i, 4 * i);
  text += instruction + " [%r1], " + register_list(registers) + ";\nbar.warp.sync 0xFFFFFFFF;\n";
  text += fmt::format("setp.ge.u32 %p0, %r0, {};\n@%p0 bra END;\n", 8 * registers);
  text +=
      "mad.wide.u32 %rd2, %r0, 16, %rd91;\nld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r1];\n"
      "st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};\nEND:";
  PtxKernel kernel = PtxKernel::body(text, 2, kRowTile);
  const auto bytes = static_cast<std::size_t>(8 * registers * kRowBytes);
  const std::uint64_t out = kernel.memory(bytes);
  kernel.run(1, kRowThreads, kernel.upload(values), out);
  return kernel.download<std::uint8_t>(out, bytes);
}

Bytes numbered(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 + i / 256);
  return bytes;
}

/// Element `column` of a row of 16 elements of `bits` bits.
std::uint8_t element(const Bytes& tile, int row, int column, int bits) {
  unsigned code = 0;
  for (int bit = 0; bit < bits; ++bit) {
    const int at = column * bits + bit;
    const unsigned byte = tile[static_cast<std::size_t>(row * kRowBytes + at / 8)];
    code |= (byte >> (at % 8) & 1u) << bit;
  }
  return static_cast<std::uint8_t>(code);
}

struct Elements {
  std::string type;
  int bits;
};

}  // namespace

TEST_CASE("ldmatrix.m16n16 gives each lane four rows of a column, in two registers 8 columns apart") {
  const Bytes tile = numbered(512);
  for (const Elements& elements :
       {Elements{"b8", 8}, Elements{"b8x16.b6x16_p32", 6}, Elements{"b8x16.b4x16_p64", 4}}) {
    for (const int matrices : {1, 2}) {
      const std::string instruction =
          fmt::format("ldmatrix.sync.aligned.m16n16.x{}.trans.shared.{}", matrices, elements.type);
      INFO(instruction);
      Bytes expected;
      for (int lane = 0; lane < kRowThreads; ++lane) {
        for (int i = 0; i < 8 * matrices; ++i) {
          const int matrix = i / 8, which = i / 4 % 2;
          expected.push_back(
              element(tile, 16 * matrix + lane % 4 * 4 + i % 4, lane / 4 + 8 * which, elements.bits));
        }
      }
      CHECK(loaded(instruction, 2 * matrices, tile) == expected);
    }
  }
}

TEST_CASE("ldmatrix.m8n16 makes bytes of 6 and 4 bits, four neighbours of a row in a lane") {
  const Bytes tile = numbered(512);
  for (const Elements& elements : {Elements{"b6x16_p32", 6}, Elements{"b4x16_p64", 4}}) {
    for (const int matrices : {1, 2, 4}) {
      const std::string instruction =
          fmt::format("ldmatrix.sync.aligned.m8n16.x{}.shared::cta.b8x16.{}", matrices, elements.type);
      INFO(instruction);
      Bytes expected;
      for (int lane = 0; lane < kRowThreads; ++lane) {
        for (int i = 0; i < 4 * matrices; ++i)
          expected.push_back(element(tile, 8 * (i / 4) + lane / 4, lane % 4 * 4 + i % 4, elements.bits));
      }
      CHECK(loaded(instruction, matrices, tile) == expected);
    }
  }
}

TEST_CASE(
    "stmatrix.m16n8 stores columns of 16 bytes: two neighbours of a row, then those of the row 8 below") {
  for (const int matrices : {1, 2, 4}) {
    const Bytes values = numbered(static_cast<std::size_t>(kRowThreads * 4 * matrices));
    Bytes expected;
    for (int column = 0; column < 8 * matrices; ++column) {
      for (int row = 0; row < kRowBytes; ++row) {
        const int lane = row % 8 * 4 + column % 8 / 2, byte = row / 8 * 2 + column % 2;
        expected.push_back(values[static_cast<std::size_t>((lane * matrices + column / 8) * 4 + byte)]);
      }
    }
    CHECK(stored(fmt::format("stmatrix.sync.aligned.m16n8.x{}.trans.shared.b8", matrices), matrices,
                 values) == expected);
  }
}

TEST_CASE("the padding of a row need not have been written") {
  struct Case {
    std::string type;
    int written;  ///< bytes of a row
  };
  for (const Case& c : {Case{"b6x16_p32", 12}, Case{"b4x16_p64", 8}}) {
    std::string text = kRowAddress;
    for (int i = 0; i < c.written; i += 4) text += fmt::format("st.shared.u32 [%r1+{}], %r0;\n", i);
    text += "bar.warp.sync 0xFFFFFFFF;\nldmatrix.sync.aligned.m8n16.x4.shared.b8x16." + c.type +
            " {%r10, %r11, %r12, %r13}, [%r1];\nmad.wide.u32 %rd2, %r0, 16, %rd90;\n"
            "st.global.v4.u32 [%rd2], {%r10, %r11, %r12, %r13};\n";
    PtxKernel kernel = PtxKernel::body(text, 1, kRowTile);
    kernel.run(1, kRowThreads, kernel.memory(512));
  }
}

namespace {

// Rows 8 to 15 of a tile are behind the end of the matrix, and no one has written them. Of the product lane i has
// elements of rows i / 4 and i / 4 + 8.
LaunchReport product_of_half_a_tile(const std::string& stores) {
  PtxKernel kernel = PtxKernel::body(
      std::string(kRowAddress) +
          "setp.lt.u32 %p0, %r0, 8;\n@%p0 st.shared.v4.u32 [%r1], {%r0, %r0, %r0, %r0};\nbar.warp.sync "
          "0xFFFFFFFF;\n"
          "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r10, %r11}, [%r1];\n"
          "mov.b32 %f0, 0f00000000;\n"
          "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r10, %r11}, {%r10}, "
          "{%f0, %f0, %f0, %f0};\n"
          "mad.wide.u32 %rd2, %r0, 16, %rd90;\n" +
          stores,
      1, kRowTile);
  LaunchRequest request;
  request.block = {kRowThreads, 1, 1};
  return kernel.run(request, kernel.memory(512));
}

}  // namespace

TEST_CASE("what no one wrote spoils its row of a product, and no other") {
  CHECK(product_of_half_a_tile("st.global.v2.f32 [%rd2], {%f1, %f2};").findings.all().empty());
  const LaunchReport report = product_of_half_a_tile("st.global.v2.f32 [%rd2], {%f3, %f4};");
  REQUIRE(report.findings.all().size() == 1);
  CHECK(report.findings.all().front().kind == FaultKind::uninitialized_read);
}

TEST_CASE("matrices that lie beyond shared memory, or not at a multiple of 16 bytes, are faults") {
  const auto finding = [](const std::string& address, const char* shared) {
    PtxKernel kernel =
        PtxKernel::body(std::string(kRowAddress) +
                            "st.shared.v4.u32 [%r1], {%r0, %r0, %r0, %r0};\n"
                            "bar.warp.sync 0xFFFFFFFF;\nldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 "
                            "{%r10, %r11, %r12, %r13}, [" +
                            address + "];",
                        0, shared);
    LaunchRequest request;
    request.block = {kRowThreads, 1, 1};
    const LaunchReport report = kernel.run(request);
    REQUIRE_FALSE(report.findings.all().empty());
    return report.findings.all().front().kind;
  };
  CHECK(finding("%r1+16", kRowTile) == FaultKind::out_of_bounds);
  CHECK(finding("%r1+4", ".shared .align 16 .b8 tile[528];") == FaultKind::misaligned);
}

}  // namespace ak::emulator::test
