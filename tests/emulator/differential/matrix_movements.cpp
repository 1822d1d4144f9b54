// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>

#include "tests/emulator/differential/generator.h"

namespace ak::emulator::differential {
namespace {

constexpr std::uint32_t kMovingLanes = 32;
constexpr int kWordsOfLane = 2;  // 64-bit words: a row of 16 bytes for every lane

/// A warp that begins with its lane in %i, a row of its own in %r0-3, the shared rows' addresses in %own and,
/// in another order, %row; ends by writing %r0-3.
Case movement(const std::string& name, const std::string& body) {
  Case one;
  one.name = name;
  one.entry = fmt::format("move_{:016x}", hash_of(std::as_bytes(std::span(name))));
  Random random(hash_of(std::as_bytes(std::span(name))));
  for (std::uint32_t i = 0; i < kMovingLanes * kWordsOfLane; ++i) one.inputs.push_back(random.bits());
  one.results = kMovingLanes * 4;
  one.text = fmt::format(
      ".visible .entry {}(.param .u64 in, .param .u64 out)\n{{\n.reg .b32 %r<4>, %i, %own, %row, %rows;\n"
      ".reg .b64 %in, %out;\n.shared .align 16 .b8 rows[512];\nld.param.u64 %in, [in];\nld.param.u64 %out, "
      "[out];\n"
      "mov.u32 %i, %tid.x;\nmad.wide.u32 %in, %i, 16, %in;\nmad.wide.u32 %out, %i, 16, %out;\n"
      "ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%in];\nmov.u32 %rows, rows;\nmad.lo.u32 %own, %i, 16, "
      "%rows;\n"
      "mad.lo.u32 %row, %i, 5, 3;\nand.b32 %row, %row, 31;\nshl.b32 %row, %row, 4;\nadd.u32 %row, %row, "
      "%rows;\n"
      "{}st.global.v4.b32 [%out], {{%r0, %r1, %r2, %r3}};\nret;\n}}\n",
      one.entry, body);
  return one;
}

constexpr std::string_view kToShared =
    "st.shared.v4.b32 [%own], {%r0, %r1, %r2, %r3};\nbar.warp.sync 0xffffffff;\n";
constexpr std::string_view kFromShared =
    "bar.warp.sync 0xffffffff;\nld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%own];\n";

}  // namespace

Suite matrix_movements() {
  Suite suite{"movements", {}};
  const std::pair<const char*, const char*> counts[] = {
      {"x1", "{%r0}"}, {"x2", "{%r0, %r1}"}, {"x4", "{%r0, %r1, %r2, %r3}"}};
  for (const auto& [count, registers] : counts) {
    for (const char* transposed : {"", ".trans"}) {
      const std::string form = fmt::format("sync.aligned.m8n8.{}{}.shared.b16", count, transposed);
      suite.cases.push_back(movement("ldmatrix." + form,
                                     fmt::format("{}ldmatrix.{} {}, [%row];\n", kToShared, form, registers)));
      // On what was there before, so that untouched rows are seen too.
      suite.cases.push_back(
          movement("stmatrix." + form,
                   fmt::format("{}stmatrix.{} [%row], {};\n{}", kToShared, form, registers, kFromShared)));
    }
  }
  suite.cases.push_back(
      movement("movmatrix.sync.aligned.m8n8.trans.b16", "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;\n"));
  return suite;
}

}  // namespace ak::emulator::differential
