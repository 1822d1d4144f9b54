// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <string>

#include "tests/emulator/differential/generator.h"

namespace ak::emulator::differential {
namespace {

// A program has registers %x0-7 (b32), %y0-3 (b64), %h0-3 (b16) and %p0-3 (pred) that random statements read
// and write; at its end every thread writes all of them. Statements are only such whose result PTX defines.

constexpr std::uint32_t kProgramThreads = 64, kProgramBlocks = 2;
constexpr std::uint32_t kWordsOfThread = 8;         // of inputs, 64 bits each
constexpr std::uint32_t kResultsOfThread = 16 + 4;  // %x, both halves of %y, %h

/// Text with $d (what is written), $a, $b, $c of 32 bits, $D, $A, $B, $C of 64, $e, $f, $g, $k of 16,
/// $p, $q, $r predicates (the first is written), $i an immediate.
constexpr std::string_view kStatements[] = {
    // 32-bit integers
    "add.u32 $d, $a, $b;",
    "sub.s32 $d, $a, $b;",
    "mul.lo.u32 $d, $a, $b;",
    "mul.hi.u32 $d, $a, $b;",
    "mul.hi.s32 $d, $a, $b;",
    "mad.lo.s32 $d, $a, $b, $c;",
    "mad.hi.u32 $d, $a, $b, $c;",
    "min.s32 $d, $a, $b;",
    "max.u32 $d, $a, $b;",
    "abs.s32 $d, $a;",
    "neg.s32 $d, $a;",
    "sad.u32 $d, $a, $b, $c;",
    "add.u32 $d, $a, $i;",
    "and.b32 $d, $a, $b;",
    "or.b32 $d, $a, $b;",
    "xor.b32 $d, $a, $b;",
    "not.b32 $d, $a;",
    "cnot.b32 $d, $a;",
    "xor.b32 $d, $a, $i;",
    "shl.b32 $d, $a, $b;",
    "shr.u32 $d, $a, $b;",
    "shr.s32 $d, $a, $i;",
    "lop3.b32 $d, $a, $b, $c, 0x96;",
    "lop3.b32 $d, $a, $b, $c, 0xca;",
    "prmt.b32 $d, $a, $b, $c;",
    "shf.l.wrap.b32 $d, $a, $b, $c;",
    "shf.r.clamp.b32 $d, $a, $b, $c;",
    "popc.b32 $d, $a;",
    "clz.b32 $d, $a;",
    "brev.b32 $d, $a;",
    "bfind.u32 $d, $a;",
    "bfe.u32 $d, $a, $b, $c;",
    "bfe.s32 $d, $a, $b, $c;",
    "bfi.b32 $d, $a, $b, $c, 9;",
    "dp4a.s32.u32 $d, $a, $b, $c;",
    "mul24.lo.u32 $d, $a, $b;",
    "or.b32 %t0, $b, 1;\ndiv.u32 $d, $a, %t0;",
    "or.b32 %t0, $b, 1;\nrem.u32 $d, $a, %t0;",
    "or.b32 %t0, $b, 1;\nand.b32 %t0, %t0, 0xffff;\ndiv.s32 $d, $a, %t0;",
    "mov.b32 $d, $i;",
    "mov.u32 $d, %tid.x;",
    "mov.u32 $d, %laneid;",
    "mov.u32 $d, %ctaid.x;",
    "mov.u32 $d, %lanemask_lt;",
    "add.cc.u32 $d, $a, $b;\naddc.u32 %t0, $c, $a;\nxor.b32 $d, $d, %t0;",
    "sub.cc.u32 $d, $a, $b;\nsubc.u32 %t0, $c, $a;\nadd.u32 $d, $d, %t0;",
    // f32: a NaN becomes one NaN, since its payload is not defined
    "add.rn.f32 $d, $a, $b;\n#32",
    "mul.rn.f32 $d, $a, $b;\n#32",
    "sub.rz.f32 $d, $a, $b;\n#32",
    "fma.rn.f32 $d, $a, $b, $c;\n#32",
    "fma.rm.ftz.f32 $d, $a, $b, $c;\n#32",
    "mul.rp.sat.f32 $d, $a, $b;\n#32",
    "min.f32 $d, $a, $b;\n#32",
    "max.ftz.f32 $d, $a, $b;\n#32",
    "div.rn.f32 $d, $a, $b;\n#32",
    "sqrt.rn.f32 $d, $a;\n#32",
    "rcp.rn.f32 $d, $a;\n#32",
    "cvt.rni.f32.f32 $d, $a;\n#32",
    "cvt.rn.f32.s32 $d, $a;",
    "cvt.rz.f32.u32 $d, $a;",
    "cvt.rzi.s32.f32 $d, $a;",
    "cvt.rni.u32.f32 $d, $a;",
    "abs.f32 $d, $a;\n#32",
    "neg.f32 $d, $a;\n#32",
    // two halves
    "add.rn.f16x2 $d, $a, $b;",
    "mul.rn.f16x2 $d, $a, $b;",
    "fma.rn.f16x2 $d, $a, $b, $c;",
    "max.NaN.f16x2 $d, $a, $b;",
    "fma.rn.bf16x2 $d, $a, $b, $c;",
    "add.s16x2 $d, $a, $b;",
    "min.u16x2 $d, $a, $b;",
    "fma.rn.relu.f16x2 $d, $a, $b, $c;",
    // 64 bits
    "add.u64 $D, $A, $B;",
    "sub.s64 $D, $A, $B;",
    "mul.lo.u64 $D, $A, $B;",
    "mul.hi.s64 $D, $A, $B;",
    "mad.lo.s64 $D, $A, $B, $C;",
    "mul.wide.u32 $D, $a, $b;",
    "mad.wide.s32 $D, $a, $b, $A;",
    "xor.b64 $D, $A, $B;",
    "and.b64 $D, $A, $B;",
    "shl.b64 $D, $A, $a;",
    "shr.s64 $D, $A, $a;",
    "min.s64 $D, $A, $B;",
    "brev.b64 $D, $A;",
    "popc.b64 $d, $A;",
    "clz.b64 $d, $A;",
    "bfe.u64 $D, $A, 11, 45;",
    "bfi.b64 $D, $A, $B, 23, 17;",
    "mov.b64 $D, {$a, $b};",
    "mov.b64 {$d, %t0}, $A;\nadd.u32 $d, $d, %t0;",
    "cvt.s64.s32 $D, $a;",
    "cvt.u32.u64 $d, $A;",
    "cvt.sat.s32.s64 $d, $A;",
    "or.b64 %w0, $B, 1;\ndiv.u64 $D, $A, %w0;",
    "or.b64 %w0, $B, 1;\nrem.u64 $D, $A, %w0;",
    "add.rn.f64 $D, $A, $B;\n#64",
    "mul.rz.f64 $D, $A, $B;\n#64",
    "fma.rn.f64 $D, $A, $B, $C;\n#64",
    "div.rn.f64 $D, $A, $B;\n#64",
    "sqrt.rn.f64 $D, $A;\n#64",
    "min.f64 $D, $A, $B;\n#64",
    "cvt.rn.f64.s64 $D, $A;",
    "cvt.rn.f64.u32 $D, $a;",
    "cvt.rn.f32.f64 $d, $A;\n#32",
    "cvt.f64.f32 $D, $a;\n#64",

    // 16 bits
    "add.u16 $e, $f, $g;",
    "mul.lo.s16 $e, $f, $g;",
    "mad.lo.u16 $e, $f, $g, $k;",
    "min.s16 $e, $f, $g;",
    "mul.wide.s16 $d, $f, $g;",
    "shr.s16 $e, $f, $a;",
    "xor.b16 $e, $f, $g;",
    "cvt.u16.u32 $e, $a;",
    "cvt.s8.s32 $e, $a;",
    "cvt.s32.s8 $d, $f;",
    "cvt.u32.u16 $d, $f;",
    "fma.rn.f16 $e, $f, $g, $k;",
    "add.rn.f16 $e, $f, $g;",
    "mul.rn.bf16 $e, $f, $g;",
    "max.f16 $e, $f, $g;\n#16",
    "mov.b32 $d, {$f, $g};",
    "mov.b32 {$e, %s0}, $a;\nxor.b16 $e, $e, %s0;",

    "cvt.rn.f16.s32 $e, $a;",
    "cvt.rn.satfinite.e4m3x2.f32 $e, $a, $b;",

    // predicates
    "setp.lt.s32 $p, $a, $b;",
    "setp.hi.u32 $p, $a, $b;",
    "setp.eq.u32 $p, $a, $i;",
    "setp.ge.f32 $p, $a, $b;",
    "setp.ltu.f32 $p, $a, $b;",
    "setp.gt.s64 $p, $A, $B;",
    "setp.ne.and.s32 $p, $a, $b, $q;",
    "setp.leu.or.f64 $p, $A, $B, !$q;",
    "setp.lt.f16 $p, $f, $g;",
    "and.pred $p, $q, $r;",
    "xor.pred $p, $q, $r;",
    "not.pred $p, $q;",
    "selp.b32 $d, $a, $b, $q;",
    "selp.b64 $D, $A, $B, $q;",
    "selp.b16 $e, $f, $g, $q;",
    "slct.b32.s32 $d, $a, $b, $c;",
    "set.lt.u32.s32 $d, $a, $b;",
    // memory that only this thread writes, and memory that no one writes
    "and.b32 %t0, $a, 15;\nmad.wide.u32 %w0, %t0, 4, %stack;\nst.local.b32 [%w0], $b;",
    "and.b32 %t0, $a, 15;\nmad.wide.u32 %w0, %t0, 4, %stack;\nld.local.b32 $d, [%w0];",
    "and.b32 %t0, $a, 7;\nmad.wide.u32 %w0, %t0, 8, %stack;\nst.local.b64 [%w0], $A;",
    "and.b32 %t0, $a, 3;\nmad.wide.u32 %w0, %t0, 16, %stack;\nld.local.v4.b32 {$d, %t0, %t1, %t2}, [%w0];\n"
    "add.u32 $d, $d, %t2;",
    "and.b32 %t0, $a, 63;\nmad.wide.u32 %w0, %t0, 1, %stack;\nst.local.b8 [%w0], $b;",
    "and.b32 %t0, $a, 63;\nmad.wide.u32 %w0, %t0, 1, %stack;\nld.local.s8 $d, [%w0];",
    "and.b32 %t0, $a, 31;\nmad.wide.u32 %w0, %t0, 2, %stack;\nld.local.u16 $d, [%w0];",
    "st.shared.b32 [%own], $a;",
    "ld.shared.b32 $d, [%own];",
    "st.shared.v2.b32 [%own], {$a, $b};",
    "ld.shared.b64 $D, [%own];",
    "st.shared.b16 [%own+2], $f;",
    "ld.shared.s8 $d, [%own+3];",
    "cvta.shared.u64 %w0, %wide;\nld.b32 $d, [%w0];",
    "and.b32 %t0, $a, 255;\nmad.wide.u32 %w0, %t0, 16, %in;\nld.global.v4.b32 {%t0, $d, %t1, %t2}, [%w0];\n"
    "xor.b32 $d, $d, %t1;",
    "and.b32 %t0, $a, 255;\nmad.wide.u32 %w0, %t0, 16, %in;\nld.global.nc.v2.b64 {$D, %w0}, [%w0];\n"
    "add.u64 $D, $D, %w0;",
    "and.b32 %t0, $a, 1023;\nmad.wide.u32 %w0, %t0, 4, %in;\nld.global.u8 $d, [%w0+1];",
    "and.b32 %t0, $a, 1023;\nmad.wide.u32 %w0, %t0, 4, %in;\nld.s16 $d, [%w0+2];",
    "and.b32 %t0, $a, 15;\nmad.wide.u32 %w0, %t0, 4, %table;\nld.const.b32 $d, [%w0];",
};

/// The same for all lanes of $m that run together.
constexpr std::string_view kVotes[] = {
    "vote.sync.all.pred $p, $q, $m;",    "vote.sync.any.pred $p, !$q, $m;",
    "vote.sync.uni.pred $p, $q, $m;",    "vote.sync.ballot.b32 $d, $q, $m;",
    "match.any.sync.b32 $d, $a, $m;",    "and.b32 %t0, $a, 3;\nmatch.any.sync.b32 $d, %t0, $m;",
    "match.all.sync.b32 $d|$p, $a, $m;", "match.any.sync.b64 $d, $A, $m;",
    "redux.sync.add.u32 $d, $a, $m;",    "redux.sync.min.s32 $d, $a, $m;",
    "redux.sync.max.u32 $d, $a, $m;",    "redux.sync.xor.b32 $d, $a, $m;",
    "redux.sync.and.b32 $d, $a, $m;",    "bar.warp.sync $m;",
};

/// Where whole warps run together.
constexpr std::string_view kShuffles[] = {
    "shfl.sync.up.b32 $d|$p, $a, $b, $c, 0xffffffff;",
    "shfl.sync.down.b32 $d|$p, $a, $b, $c, 0xffffffff;",
    "shfl.sync.bfly.b32 $d|$p, $a, $b, $c, 0xffffffff;",
    "shfl.sync.idx.b32 $d|$p, $a, $b, $c, 0xffffffff;",
    "shfl.sync.up.b32 $d, $a, 1, 0, 0xffffffff;",
    "shfl.sync.bfly.b32 $d, $a, 16, 31, 0xffffffff;",
    "shfl.sync.idx.b32 $d, $a, $b, 31, 0xffffffff;",
    "shfl.sync.down.b32 $d|$p, $a, 3, 0x181f, 0xffffffff;",
};

/// Where all threads of the block run together.
constexpr std::string_view kExchanges[] = {
    "st.shared.b32 [%own], $a;\nbar.sync 0;\nand.b32 %t0, $b, 63;\nmad.lo.u32 %t0, %t0, 8, %cells;\n"
    "ld.shared.b32 $d, [%t0];\nbar.sync 0;",
    "st.shared.b64 [%own], $A;\nbarrier.sync 1;\nand.b32 %t0, $b, 63;\nmad.lo.u32 %t0, %t0, 8, %cells;\n"
    "ld.shared.b64 $D, [%t0];\nbarrier.sync 1;",
    "and.b32 %t0, $b, 7;\nmad.lo.u32 %t0, %t0, 4, %sums;\nred.shared.add.u32 [%t0], $a;\nbar.sync 0;\n"
    "ld.shared.b32 $d, [%sums+8];\nbar.sync 0;",
    "and.b32 %t0, $b, 7;\nmad.lo.u32 %t0, %t0, 4, %sums;\nred.shared.max.s32 [%t0], $a;\nbar.sync 0;\n"
    "ld.shared.b32 $d, [%sums+4];\nbar.sync 0;",
    "bar.red.popc.u32 $d, 0, $q;",
    "bar.red.and.pred $p, 0, $q;",
    "bar.red.or.pred $p, 0, !$q;",
};

/// Which threads run a statement together.
enum class Together : std::uint8_t { block, warp, masked, nothing };

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed) {}
  Random& random() { return random_; }

  std::string program() {
    std::string text;
    for (int i = 0; i < 24; ++i) text += statement(0, Together::block, "0xffffffff");
    return text;
  }

 private:
  template <class Table>
  std::string from(const Table& table, const std::string& mask) {
    std::string text = expanded(table[random_.below(static_cast<std::uint32_t>(std::size(table)))], mask);
    return text + "\n";
  }

  std::string plain() {
    std::string text = from(kStatements, {});
    // A guard only where a single instruction stands for the statement.
    if (random_.chance(20) && text.find('\n') == text.size() - 1)
      return fmt::format("@{}%p{} {}", random_.chance(50) ? "!" : "", random_.below(4), text);
    return text;
  }

  std::string statement(int depth, Together together, const std::string& mask) {
    const std::uint32_t choice = random_.below(100);
    if (depth < 3 && choice < 10) return branch(depth, together, mask);
    if (depth < 3 && choice < 16) return loop(depth, together, mask);
    if (depth < 2 && choice < 18) return jump(depth, together, mask);
    if (choice < 21) return call();
    if (together != Together::nothing && choice < 33) return from(kVotes, mask);
    if (together <= Together::warp && choice < 43) return from(kShuffles, mask);
    if (together == Together::block && choice < 52) return from(kExchanges, mask);
    return plain();
  }

  std::string statements(int depth, Together together, const std::string& mask) {
    std::string text;
    for (std::uint32_t i = random_.below(5) + 1; i > 0; --i) text += statement(depth, together, mask);
    return text;
  }

  std::string branch(int depth, Together together, const std::string& mask) {
    const int label = ++labels_;
    const std::uint32_t predicate = random_.below(4);
    const bool votes = together != Together::nothing;
    const Together inside = votes ? Together::masked : Together::nothing;
    // The lanes of either side, counted where they still run together; the predicate may change later.
    const std::string then_mask = fmt::format("%then{}", depth), else_mask = fmt::format("%else{}", depth);
    std::string text;
    if (votes)
      text += fmt::format("vote.sync.ballot.b32 {0}, %p{1}, {2};\nvote.sync.ballot.b32 {3}, !%p{1}, {2};\n",
                          then_mask, predicate, mask, else_mask);
    text += fmt::format("@!%p{} bra else_{};\n", predicate, label) + statements(depth + 1, inside, then_mask);
    if (random_.chance(60))
      text += fmt::format("bra end_{0};\nelse_{0}:\n", label) + statements(depth + 1, inside, else_mask);
    else
      text += fmt::format("else_{}:\n", label);
    text += fmt::format("end_{}:\n", label);
    if (votes) text += fmt::format("bar.warp.sync {};\n", mask);
    return text;
  }

  std::string loop(int depth, Together together, const std::string& mask) {
    const int label = ++labels_;
    const bool uniform = random_.chance(60);
    const Together inside = uniform ? together : Together::nothing;
    const std::string count = uniform ? fmt::format("mov.u32 %n{}, {};\n", depth, random_.below(3) + 1)
                                      : fmt::format("and.b32 %n{}, %x{}, 3;\n", depth, random_.below(8));
    std::string text = count + fmt::format("loop_{}:\n", label) + statements(depth + 1, inside, mask);
    text += fmt::format("setp.eq.u32 %l{0}, %n{0}, 0;\nsub.u32 %n{0}, %n{0}, 1;\n@!%l{0} bra loop_{1};\n",
                        depth, label);
    if (!uniform && together != Together::nothing) text += fmt::format("bar.warp.sync {};\n", mask);
    return text;
  }

  std::string jump(int depth, Together together, const std::string& mask) {
    const int label = ++labels_;
    std::string text = fmt::format(
        "and.b32 %t0, %x{0}, 3;\ntargets_{1}: .branchtargets case_{1}_0, case_{1}_1, case_{1}_2, end_{1};\n"
        "brx.idx %t0, targets_{1};\n",
        random_.below(8), label);
    for (int i = 0; i < 3; ++i) {
      text += fmt::format("case_{}_{}:\n", label, i) + statements(depth + 2, Together::nothing, {});
      if (random_.chance(70)) text += fmt::format("bra end_{};\n", label);
    }
    text += fmt::format("end_{}:\n", label);
    if (together != Together::nothing) text += fmt::format("bar.warp.sync {};\n", mask);
    return text;
  }

  std::string call() {
    return fmt::format(
        "{{\n.param .b32 x;\n.param .b32 y;\n.param .b32 result;\nst.param.b32 [x], %x{};\nst.param.b32 [y], "
        "%x{};\n"
        "call (result), helper, (x, y);\nld.param.b32 %x{}, [result];\n}}\n",
        random_.below(8), random_.below(8), random_.below(8));
  }

  /// Statements that make any NaN in a register the same one; width: the first digit of its bits.
  static std::string canonical_nan(char width, std::uint32_t d, std::uint32_t wide, std::uint32_t half) {
    if (width == '6')
      return fmt::format("testp.notanumber.f64 %nan, %y{0};\n@%nan mov.b64 %y{0}, 0x7ff8000000000000;", wide);
    if (width == '1')
      return fmt::format("setp.nan.f16 %nan, %h{0}, %h{0};\n@%nan mov.b16 %h{0}, 0x7fff;", half);
    return fmt::format("testp.notanumber.f32 %nan, %x{0};\n@%nan mov.b32 %x{0}, 0x7fffffff;", d);
  }

  std::string expanded(std::string_view pattern, const std::string& mask) {
    std::string text;
    const std::uint32_t d = random_.below(8), wide = random_.below(4), half = random_.below(4),
                        p = random_.below(4);
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] == '#') {
        text += canonical_nan(pattern[i + 1], d, wide, half);
        i += 2;
        continue;
      }
      if (pattern[i] != '$') {
        text += pattern[i];
        continue;
      }
      const char what = pattern[++i];
      if (what == 'd') text += fmt::format("%x{}", d);
      if (what == 'D') text += fmt::format("%y{}", wide);
      if (what == 'e') text += fmt::format("%h{}", half);
      if (what == 'p') text += fmt::format("%p{}", p);
      if (what == 'a' || what == 'b' || what == 'c') text += fmt::format("%x{}", random_.below(8));
      if (what == 'A' || what == 'B' || what == 'C') text += fmt::format("%y{}", random_.below(4));
      if (what == 'f' || what == 'g' || what == 'k') text += fmt::format("%h{}", random_.below(4));
      if (what == 'q' || what == 'r') text += fmt::format("%p{}", random_.below(4));
      if (what == 'i') text += fmt::format("{}", static_cast<std::int32_t>(value_of("s32", random_)));
      if (what == 'm') text += mask;
    }
    return text;
  }

  Random random_;
  int labels_ = 0;
};

constexpr std::string_view kBegin = R"({
.reg .b32 %x<8>, %t<3>, %n<4>, %then<3>, %else<3>, %i, %own, %cells, %sums;
.reg .b64 %y<4>, %w<2>, %in, %out, %stack, %table, %wide, %mine;
.reg .b16 %h<4>, %s0;
.reg .pred %p<4>, %l<4>, %nan;
.shared .align 8 .b8 cells[512];
.shared .align 8 .b8 sums[32];
.local .align 16 .b8 stack[64];
ld.param.u64 %in, [in];
ld.param.u64 %out, [out];
mov.u32 %i, %ctaid.x;
mov.u32 %t0, %tid.x;
mad.lo.u32 %i, %i, 64, %t0;
mov.u32 %cells, cells;
mad.lo.u32 %own, %t0, 8, %cells;
cvt.u64.u32 %wide, %own;
mov.u32 %sums, sums;
mov.u64 %stack, stack;
mov.u64 %table, numbers;
mad.wide.u32 %mine, %i, 64, %in;
ld.global.v4.b32 {%x0, %x1, %x2, %x3}, [%mine];
ld.global.v4.b32 {%x4, %x5, %x6, %x7}, [%mine+16];
ld.global.v2.b64 {%y0, %y1}, [%mine+32];
ld.global.v2.b64 {%y2, %y3}, [%mine+48];
mov.b32 {%h0, %h1}, %x1;
mov.b32 {%h2, %h3}, %x6;
st.shared.b64 [%own], %y1;
st.local.v4.b32 [%stack], {%x0, %x1, %x2, %x3};
st.local.v4.b32 [%stack+16], {%x4, %x5, %x6, %x7};
st.local.v2.b64 [%stack+32], {%y0, %y1};
st.local.v2.b64 [%stack+48], {%y2, %y3};
setp.lt.s32 %p0, %x0, 0;
setp.gt.u32 %p1, %x1, %x2;
setp.lt.s32 %p2, %x3, %x4;
setp.eq.u32 %p3, %x5, 0;
setp.lt.u32 %nan, %t0, 8;
mad.lo.u32 %t0, %t0, 4, %sums;
@%nan st.shared.b32 [%t0], %i;
bar.sync 0;
)";

std::string ending() {
  std::string text = fmt::format("mad.wide.u32 %out, %i, {}, %out;\n", 4 * kResultsOfThread);
  for (int i = 0; i < 8; ++i) text += fmt::format("st.global.b32 [%out+{}], %x{};\n", 4 * i, i);
  for (int i = 0; i < 4; ++i) text += fmt::format("st.global.b64 [%out+{}], %y{};\n", 32 + 8 * i, i);
  for (int i = 0; i < 4; ++i)
    text += fmt::format("cvt.u32.u16 %t0, %h{};\nst.global.b32 [%out+{}], %t0;\n", i, 64 + 4 * i);
  return text + "ret;\n}\n";
}

Case program(std::uint64_t seed) {
  Writer writer(seed);
  Case one;
  one.name = fmt::format("program {}", seed);
  one.entry = fmt::format("program_{}", seed);
  one.blocks = kProgramBlocks;
  one.threads = kProgramThreads;
  one.results = kProgramBlocks * kProgramThreads * kResultsOfThread;
  one.hashed_row = kResultsOfThread;
  constexpr std::array kHalves = {"u32", "f32", "f16x2", "s32"};
  for (std::uint32_t i = 0; i < kProgramBlocks * kProgramThreads; ++i) {
    for (const char* type : kHalves) {
      const std::uint64_t low = value_of(type, writer.random());
      one.inputs.push_back(low | value_of(type, writer.random()) << 32);
    }
    for (const char* type : {"f64", "u64", "s64", "f64"})
      one.inputs.push_back(value_of(type, writer.random()));
  }
  one.text = fmt::format(".visible .entry {}(.param .u64 in, .param .u64 out)\n", one.entry) +
             std::string(kBegin) + writer.program() + ending();
  return one;
}

}  // namespace

Suite random_programs(std::uint64_t first_seed, int count) {
  Suite suite{"programs", {}};
  for (int i = 0; i < count; ++i) suite.cases.push_back(program(first_seed + static_cast<std::uint64_t>(i)));
  return suite;
}

}  // namespace ak::emulator::differential
