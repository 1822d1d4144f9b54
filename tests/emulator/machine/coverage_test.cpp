// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <sstream>
#include <string>

#include "core/text/file.h"
#include "emulator/lower/mnemonics.h"
#include "emulator/lower/refusals.h"
#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

/// Words in backticks in the first column of the table under "## Coverage".
std::set<std::string> documented_opcodes() {
  const std::string page = read_file(AK_CPU_DEVICE_PAGE);
  std::istringstream lines(page.substr(page.find("## Coverage")));
  std::set<std::string> opcodes;
  for (std::string line; std::getline(lines, line) && !line.starts_with("Refused by name");) {
    if (!line.starts_with("| `")) continue;
    std::istringstream words(line.substr(1, line.find('|', 1) - 1));
    for (std::string word; words >> word;) opcodes.insert(word.substr(1, word.size() - 2));
  }
  return opcodes;
}

/// The rows of the table behind "Refused by name:": instruction and what it is for.
std::set<std::pair<std::string, std::string>> documented_refusals() {
  const std::string page = read_file(AK_CPU_DEVICE_PAGE);
  std::istringstream lines(page.substr(page.find("Refused by name")));
  std::set<std::pair<std::string, std::string>> rows;
  for (std::string line; std::getline(lines, line) && !line.starts_with("Special registers");) {
    if (!line.starts_with("| `")) continue;
    const std::size_t end = line.find("` | ");
    rows.emplace(line.substr(3, end - 3), line.substr(end + 4, line.size() - end - 6));
  }
  return rows;
}

std::string spelling_of(const Refusal& refusal) {
  const std::string opcode(refusal.opcode);
  return refusal.modifier.empty() ? opcode : opcode + "." + std::string(refusal.modifier);
}

// One form of every instruction of PTX ISA 9.0, section 9.7, that stands for all of its mnemonic.
constexpr const char* kInstructions[] = {
    // Integers, with and without carries
    "add.s32 %r1, %r2, %r3;",
    "sub.s32 %r1, %r2, %r3;",
    "mul.lo.s32 %r1, %r2, %r3;",
    "mad.lo.s32 %r1, %r2, %r3, %r4;",
    "mul24.lo.s32 %r1, %r2, %r3;",
    "mad24.lo.s32 %r1, %r2, %r3, %r4;",
    "sad.s32 %r1, %r2, %r3, %r4;",
    "div.s32 %r1, %r2, %r3;",
    "rem.s32 %r1, %r2, %r3;",
    "abs.s32 %r1, %r2;",
    "neg.s32 %r1, %r2;",
    "min.s32 %r1, %r2, %r3;",
    "max.s32 %r1, %r2, %r3;",
    "popc.b32 %r1, %r2;",
    "clz.b32 %r1, %r2;",
    "bfind.u32 %r1, %r2;",
    "fns.b32 %r1, %r2, %r3, %r4;",
    "brev.b32 %r1, %r2;",
    "bfe.u32 %r1, %r2, %r3, %r4;",
    "bfi.b32 %r1, %r2, %r3, %r4, %r5;",
    "szext.clamp.s32 %r1, %r2, %r3;",
    "bmsk.clamp.b32 %r1, %r2, %r3;",
    "dp4a.u32.u32 %r1, %r2, %r3, %r4;",
    "dp2a.lo.u32.u32 %r1, %r2, %r3, %r4;",
    "add.cc.u32 %r1, %r2, %r3;",
    "addc.u32 %r1, %r2, %r3;",
    "sub.cc.u32 %r1, %r2, %r3;",
    "subc.u32 %r1, %r2, %r3;",
    "mad.lo.cc.u32 %r1, %r2, %r3, %r4;",
    "madc.lo.u32 %r1, %r2, %r3, %r4;",
    // Floats
    "testp.finite.f32 %p1, %f2;",
    "copysign.f32 %f1, %f2, %f3;",
    "add.f32 %f1, %f2, %f3;",
    "sub.f32 %f1, %f2, %f3;",
    "mul.f32 %f1, %f2, %f3;",
    "fma.rn.f32 %f1, %f2, %f3, %f4;",
    "mad.rn.f32 %f1, %f2, %f3, %f4;",
    "div.rn.f32 %f1, %f2, %f3;",
    "abs.f32 %f1, %f2;",
    "neg.f32 %f1, %f2;",
    "min.f32 %f1, %f2, %f3;",
    "max.f32 %f1, %f2, %f3;",
    "rcp.rn.f32 %f1, %f2;",
    "sqrt.rn.f32 %f1, %f2;",
    "rsqrt.approx.f32 %f1, %f2;",
    "sin.approx.f32 %f1, %f2;",
    "cos.approx.f32 %f1, %f2;",
    "lg2.approx.f32 %f1, %f2;",
    "ex2.approx.f32 %f1, %f2;",
    "tanh.approx.f32 %f1, %f2;",
    "add.f16 %rs1, %rs2, %rs3;",
    "sub.f16x2 %r1, %r2, %r3;",
    "mul.bf16 %rs1, %rs2, %rs3;",
    "fma.rn.f16 %rs1, %rs2, %rs3, %rs4;",
    "neg.f16 %rs1, %rs2;",
    "abs.f16 %rs1, %rs2;",
    "min.f16 %rs1, %rs2, %rs3;",
    "max.f16 %rs1, %rs2, %rs3;",
    "tanh.approx.f16 %rs1, %rs2;",
    "ex2.approx.f16 %rs1, %rs2;",
    // Comparisons, logic, moves
    "set.eq.u32.s32 %r1, %r2, %r3;",
    "setp.eq.s32 %p1, %r2, %r3;",
    "selp.b32 %r1, %r2, %r3, %p1;",
    "slct.s32.s32 %r1, %r2, %r3, %r4;",
    "set.eq.f16.f16 %rs1, %rs2, %rs3;",
    "setp.eq.f16 %p1, %rs2, %rs3;",
    "and.b32 %r1, %r2, %r3;",
    "or.b32 %r1, %r2, %r3;",
    "xor.b32 %r1, %r2, %r3;",
    "not.b32 %r1, %r2;",
    "cnot.b32 %r1, %r2;",
    "lop3.b32 %r1, %r2, %r3, %r4, 0x40;",
    "shf.l.wrap.b32 %r1, %r2, %r3, %r4;",
    "shl.b32 %r1, %r2, %r3;",
    "shr.b32 %r1, %r2, %r3;",
    "mov.b32 %r1, %r2;",
    "shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;",
    "shfl.bfly.b32 %r1, %r2, 1, 31;",
    "prmt.b32 %r1, %r2, %r3, %r4;",
    "ld.global.u32 %r1, [%rd1];",
    "ld.global.nc.u32 %r1, [%rd1];",
    "ldu.global.u32 %r1, [%rd1];",
    "st.global.u32 [%rd1], %r1;",
    "st.async.release.gpu.global.u32 [%rd1], %r1;",
    "st.bulk.weak.shared::cta [%r1], %rd1, 0;",
    "multimem.ld_reduce.global.add.u32 %r1, [%rd1];",
    "multimem.st.global.u32 [%rd1], %r1;",
    "multimem.red.global.add.u32 [%rd1], %r1;",
    "prefetch.global.L1 [%rd1];",
    "prefetchu.L1 [%rd1];",
    "applypriority.global.L2::evict_normal [%rd1], 128;",
    "discard.global.L2 [%rd1], 128;",
    "createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;",
    "isspacep.shared %p1, %rd1;",
    "cvta.to.global.u64 %rd1, %rd2;",
    "cvt.rn.f32.s32 %f1, %r2;",
    "cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4;",
    "mapa.shared::cluster.u32 %r1, %r2, %r3;",
    "getctarank.shared::cluster.u32 %r1, %r2;",
    // Copies
    "cp.async.ca.shared.global [%r1], [%rd1], 16;",
    "cp.async.commit_group;",
    "cp.async.wait_group 0;",
    "cp.async.wait_all;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], %r2;",
    "cp.async.bulk.prefetch.L2.global [%rd1], %r1;",
    "multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;",
    "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], %r2;",
    "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], "
    "[%r3];",
    "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%rd1, {%r1}], [%r2];",
    "cp.async.bulk.prefetch.tensor.1d.L2.global [%rd1, {%r1}];",
    "cp.async.bulk.commit_group;",
    "cp.async.bulk.wait_group 0;",
    "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;",
    // Textures and surfaces
    "tex.1d.v4.f32.s32;",
    "tld4.r.2d.v4.f32.f32;",
    "txq.width.b32;",
    "istypep.texref;",
    "suld.b.1d.b32.trap;",
    "sust.b.1d.b32.trap;",
    "sured.b.add.1d.u32.trap;",
    "suq.width.b32;",
    // Control flow, synchronisation
    "bra.uni END;\nEND:",
    "brx.idx %r1, TARGETS;\nTARGETS: .branchtargets END;\nEND:",
    "ret;",
    "exit;",
    "bar.sync 0;",
    "barrier.sync 0;",
    "bar.warp.sync -1;",
    "barrier.cluster.arrive;",
    "membar.gl;",
    "fence.acq_rel.gpu;",
    "atom.global.add.u32 %r1, [%rd1], %r2;",
    "red.global.add.u32 [%rd1], %r2;",
    "red.async.release.gpu.global.add.u32 [%rd1], %r2;",
    "vote.sync.any.pred %p1, %p2, -1;",
    "vote.any.pred %p1, %p2;",
    "match.any.sync.b32 %r1, %r2, -1;",
    "activemask.b32 %r1;",
    "redux.sync.add.u32 %r1, %r2, -1;",
    "griddepcontrol.wait;",
    "elect.sync %r1|%p1, -1;",
    "mbarrier.init.shared.b64 [%r1], 1;",
    "mbarrier.inval.shared.b64 [%r1];",
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 16;",
    "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 16;",
    "mbarrier.arrive.shared.b64 %rd1, [%r1];",
    "mbarrier.arrive_drop.shared.b64 %rd1, [%r1];",
    "cp.async.mbarrier.arrive.shared.b64 [%r1];",
    "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;",
    "mbarrier.try_wait.shared.b64 %p1, [%r1], %rd1;",
    "mbarrier.pending_count.b64 %r1, %rd1;",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r1], "
    "128;",
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];",
    "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128;",
    // Matrices
    "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1];",
    "wmma.store.d.sync.aligned.row.m16n16k16.f16 [%rd1], {%r1, %r2, %r3, %r4};",
    "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r3, %r4}, {%r5}, {%r6, %r7};",
    "mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16;",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];",
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r1};",
    "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;",
    "wgmma.fence.sync.aligned;",
    "wgmma.commit_group.sync.aligned;",
    "wgmma.wait_group.sync.aligned 0;",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16;",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;",
    "tcgen05.mma.cta_group::1.kind::f16;",
    // Stacks, video, the rest
    "stacksave.u32 %r1;",
    "stackrestore.u32 %r1;",
    "alloca.u32 %r1, 16;",
    "vadd.s32.s32.s32 %r1, %r2, %r3;",
    "vsub.s32.s32.s32 %r1, %r2, %r3;",
    "vabsdiff.s32.s32.s32 %r1, %r2, %r3;",
    "vmin.s32.s32.s32 %r1, %r2, %r3;",
    "vmax.s32.s32.s32 %r1, %r2, %r3;",
    "vshl.u32.u32.u32.clamp %r1, %r2, %r3;",
    "vshr.u32.u32.u32.clamp %r1, %r2, %r3;",
    "vmad.s32.s32.s32 %r1, %r2, %r3, %r4;",
    "vset.s32.s32.eq %r1, %r2, %r3;",
    "vadd2.s32.s32.s32 %r1, %r2, %r3, %r4;",
    "vsub2.s32.s32.s32 %r1, %r2, %r3, %r4;",
    "vavrg2.s32.s32.s32 %r1, %r2, %r3, %r4;",
    "vabsdiff2.s32.s32.s32 %r1, %r2, %r3, %r4;",
    "vmin2.s32.s32.s32 %r1, %r2, %r3, %r4;",
    "vmax2.s32.s32.s32 %r1, %r2, %r3, %r4;",
    "vset2.s32.s32.eq %r1, %r2, %r3, %r4;",
    "vadd4.s32.s32.s32 %r1, %r2, %r3, %r4;",
    "vsub4.s32.s32.s32 %r1, %r2, %r3, %r4;",
    "vavrg4.s32.s32.s32 %r1, %r2, %r3, %r4;",
    "vabsdiff4.s32.s32.s32 %r1, %r2, %r3, %r4;",
    "vmin4.s32.s32.s32 %r1, %r2, %r3, %r4;",
    "vmax4.s32.s32.s32 %r1, %r2, %r3, %r4;",
    "vset4.s32.s32.eq %r1, %r2, %r3, %r4;",
    "brkpt;",
    "nanosleep.u32 10;",
    "pmevent 1;",
    "trap;",
    "setmaxnreg.inc.sync.aligned.u32 64;",
};

// Every special register of PTX ISA 9.0, section 10, and the type in which it is read.
constexpr const char* kSpecialRegisters[] = {
    "u32 %tid.x",
    "u32 %ntid.y",
    "u32 %tid.w",
    "u32 %laneid",
    "u32 %warpid",
    "u32 %nwarpid",
    "u32 %ctaid.z",
    "u32 %nctaid.x",
    "u32 %smid",
    "u32 %nsmid",
    "u64 %gridid",
    "pred %is_explicit_cluster",
    "u32 %clusterid.x",
    "u32 %nclusterid.x",
    "u32 %cluster_ctaid.x",
    "u32 %cluster_nctaid.x",
    "u32 %cluster_ctarank",
    "u32 %cluster_nctarank",
    "u32 %lanemask_eq",
    "u32 %lanemask_le",
    "u32 %lanemask_lt",
    "u32 %lanemask_ge",
    "u32 %lanemask_gt",
    "u32 %clock",
    "u32 %clock_hi",
    "u64 %clock64",
    "u32 %pm0",
    "u32 %pm7",
    "u64 %pm0_64",
    "u32 %envreg0",
    "u32 %envreg31",
    "u64 %globaltimer",
    "u32 %globaltimer_lo",
    "u32 %globaltimer_hi",
    "u32 %total_smem_size",
    "u32 %aggr_smem_size",
    "u64 %current_graph_exec",
    "u32 %dynamic_smem_size",
    "u32 %reserved_smem_offset_begin",
    "u32 %reserved_smem_offset_end",
    "u32 %reserved_smem_offset_cap",
    "u32 %reserved_smem_offset_0",
    "u32 %reserved_smem_offset_1",
};

/// What a kernel with these instructions is refused with; empty when it is not.
std::string refused_with(const std::string& instructions) {
  const auto module = parse(
      ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<10>;\n"
      ".reg .b64 %rd<10>;\n.reg .f32 %f<10>;\n.reg .b16 %rs<10>;\n.reg .pred %p<10>;\n" +
      instructions + "\nret;\n}\n");
  if (!module) return "PTX that cannot be read: " + module.error().message;
  const auto program = lower(*module, module->functions.front(), {});
  return program ? "" : program.error().message;
}

}  // namespace

TEST_CASE("every instruction of PTX runs, or is refused with what it is for") {
  for (const std::string instruction : kInstructions) {
    const std::string message = refused_with(instruction);
    INFO(instruction << "\n" << message);
    if (message.empty()) continue;
    const bool listed = std::ranges::any_of(refusals(), [&](const Refusal& refusal) {
      return message.ends_with(": " + std::string(refusal.what));
    });
    CHECK((listed || message.ends_with("without .sync")));
  }
}

TEST_CASE("every special register has a value, or is refused by its name and what it is") {
  std::set<std::string> refused;
  for (const std::string text : kSpecialRegisters) {
    const std::string type = text.substr(0, text.find(' ')), name = text.substr(text.find(' ') + 1);
    const std::string to = type == "u64" ? "%rd1" : type == "pred" ? "%p1" : "%r1";
    const std::string message = refused_with("mov." + type + " " + to + ", " + name + ";");
    INFO(text << "\n" << message);
    if (message.empty()) continue;
    refused.insert(name);
    CHECK_THAT(message, Catch::Contains("special register " + name + " ("));
  }
  CHECK(refused == std::set<std::string>{"%is_explicit_cluster", "%pm0", "%pm7", "%pm0_64", "%envreg0",
                                         "%envreg31", "%aggr_smem_size", "%current_graph_exec"});
}

TEST_CASE("the page of the CPU device lists the instructions that are covered, and no others") {
  std::set<std::string> covered;
  for (const auto& [opcode, entries] : mnemonic_table()) covered.emplace(opcode);
  CHECK(documented_opcodes() == covered);
}

TEST_CASE("what is refused by name is listed, and refused with these words and its line") {
  std::set<std::pair<std::string, std::string>> rows;
  for (const Refusal& refused : refusals()) {
    const std::string spelling = spelling_of(refused);
    rows.emplace(spelling, refused.what);
    const Outcome outcome = refusal(spelling + ";", 0);
    CHECK(outcome.status == Status::unsupported);
    CHECK_THAT(outcome.message,
               Catch::Contains("'" + spelling + "' (PTX line 13): " + std::string(refused.what)));
  }
  CHECK(documented_refusals() == rows);
}

}  // namespace ak::emulator::test
