// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <string>

#include "tests/emulator/differential/sweep.h"

namespace ak::emulator::differential {
namespace {

using Names = std::vector<std::string>;
const Names kWideIntegers = {"u16", "s16", "u32", "s32", "u64", "s64"};
const Names kShort = {"u16", "s16", "u32", "s32"};
const Names kWords = {"u32", "s32"};

std::string wide(const std::string& type) {
  return type[0] + std::string(type.ends_with("16") ? "32" : "64");
}

void add_arithmetic(Sweep& sweep) {
  for (const std::string& t : kWideIntegers) {
    for (const char* op : {"add", "sub", "mul.lo", "mul.hi", "min", "max"})
      sweep.add(fmt::format("{}.{} %d, %a, %b;", op, t), t, {t, t});
    for (const char* op : {"mad.lo", "mad.hi"})
      sweep.add(fmt::format("{}.{} %d, %a, %b, %c;", op, t), t, {t, t, t});
    sweep.add(fmt::format("sad.{} %d, %a, %b, %c;", t), t, {t, t, t});
    // A quotient by zero is not defined.
    for (const char* op : {"div", "rem"})
      sweep.add(fmt::format("setp.eq.{0} %p, %b, 0;\nselp.b{1} %b, 3, %b, %p;\n{2}.{0} %d, %a, %b;",
                            t.substr(0), register_bits_of(t), op),
                t, {t, t});
    if (t[0] == 's') {
      sweep.add(fmt::format("abs.{} %d, %a;", t), t, {t});
      sweep.add(fmt::format("neg.{} %d, %a;", t), t, {t});
    }
  }
  for (const std::string& t : kShort) {
    sweep.add(fmt::format("mul.wide.{} %d, %a, %b;", t), wide(t), {t, t});
    sweep.add(fmt::format("mad.wide.{} %d, %a, %b, %c;", t), wide(t), {t, t, wide(t)});
  }
  for (const std::string& t : kWords) {
    for (const char* half : {"lo", "hi"}) {
      sweep.add(fmt::format("mul24.{}.{} %d, %a, %b;", half, t), t, {t, t});
      sweep.add(fmt::format("mad24.{}.{} %d, %a, %b, %c;", half, t), t, {t, t, t});
    }
  }
  for (const char* op : {"add.sat.s32", "sub.sat.s32", "min.relu.s32", "max.relu.s32"})
    sweep.add(fmt::format("{} %d, %a, %b;", op), "s32", {"s32", "s32"});
  for (const char* op : {"mad.hi.sat.s32", "mad24.hi.sat.s32"})
    sweep.add(fmt::format("{} %d, %a, %b, %c;", op), "s32", {"s32", "s32", "s32"});
  for (const char* op : {"add.u16x2", "add.s16x2", "min.u16x2", "min.s16x2", "max.u16x2", "max.s16x2",
                         "min.relu.s16x2", "max.relu.s16x2"})
    sweep.add(fmt::format("{} %d, %a, %b;", op), "b32", {"u16x2", "u16x2"});
  for (const std::string& a : kWords) {
    for (const std::string& b : kWords) {
      sweep.add(fmt::format("dp4a.{}.{} %d, %a, %b, %c;", a, b), "b32", {"b32", "b32", "b32"});
      for (const char* half : {"lo", "hi"})
        sweep.add(fmt::format("dp2a.{}.{}.{} %d, %a, %b, %c;", half, a, b), "b32", {"b32", "b32", "b32"});
    }
  }
}

void add_carries(Sweep& sweep) {
  for (const std::string t : {"u32", "s32", "u64", "s64"}) {
    const std::string bits = "b" + t.substr(1);
    for (const char* op : {"add", "sub"}) {
      sweep.add(fmt::format("{0}.cc.{1} %d, %a, %b;\n{0}c.{1} %d, %d, %c;", op, t), bits, {bits, bits, bits});
      sweep.add(fmt::format("{0}.cc.{1} %d, %a, %b;\n{0}c.cc.{1} %d, %b, %c;\n{0}c.{1} %d, %d, %a;", op, t),
                bits, {bits, bits, bits});
    }
    for (const char* half : {"lo", "hi"}) {
      if (half == std::string("hi") && t[0] == 's') continue;
      sweep.add(fmt::format("mad.{0}.cc.{1} %d, %a, %b, %c;\naddc.{1} %d, %d, %a;", half, t), bits,
                {bits, bits, bits});
      sweep.add(fmt::format("add.cc.{1} %d, %a, %b;\nmadc.{0}.{1} %d, %a, %b, %c;", half, t), bits,
                {bits, bits, bits});
      sweep.add(fmt::format("add.cc.{1} %d, %a, %b;\nmadc.{0}.cc.{1} %d, %a, %b, %c;\naddc.{1} %d, %d, %c;",
                            half, t),
                bits, {bits, bits, bits});
    }
  }
}

void add_logic(Sweep& sweep) {
  for (const std::string t : {"b16", "b32", "b64"}) {
    for (const char* op : {"and", "or", "xor"}) sweep.add(fmt::format("{}.{} %d, %a, %b;", op, t), t, {t, t});
    for (const char* op : {"not", "cnot"}) sweep.add(fmt::format("{}.{} %d, %a;", op, t), t, {t});
    sweep.add(fmt::format("shl.{} %d, %a, %b;", t), t, {t, "shift"});
    for (const char sign : {'b', 'u', 's'})
      sweep.add(fmt::format("shr.{}{} %d, %a, %b;", sign, t.substr(1)), t, {t, "shift"});
    sweep.add(fmt::format("setp.lt.s32 %p, %c, 0;\nselp.{} %d, %a, %b, %p;", t), t, {t, t, "s32"});
    sweep.add(fmt::format("slct.{}.s32 %d, %a, %b, %c;", t), t, {t, t, "s32"});
    sweep.add(fmt::format("slct.{}.f32 %d, %a, %b, %c;", t), t, {t, t, "f32"});
  }
  for (const char* op : {"and", "or", "xor"})
    sweep.add(fmt::format("setp.lt.s32 %p, %a, 0;\nsetp.lt.s32 %q, %b, 0;\n{}.pred %r, %p, %q;\n"
                          "not.pred %p, %r;\nselp.b32 %d, 1, 0, %p;",
                          op),
              "flag", {"s32", "s32"});
  for (const char* dir : {"l", "r"}) {
    for (const char* mode : {"clamp", "wrap"})
      sweep.add(fmt::format("shf.{}.{}.b32 %d, %a, %b, %c;", dir, mode), "b32", {"b32", "b32", "shift"});
  }
  sweep.add("prmt.b32 %d, %a, %b, %c;", "b32", {"b32", "b32", "b32"});
  for (const char* mode : {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})
    sweep.add(fmt::format("prmt.b32.{} %d, %a, %b, %c;", mode), "b32", {"b32", "b32", "shift"});
  for (const int table : {0x00, 0x01, 0x1b, 0x3c, 0x55, 0x80, 0x96, 0xaa, 0xca, 0xe8, 0xf0, 0xfe, 0xff, 0x2d})
    sweep.add(fmt::format("lop3.b32 %d, %a, %b, %c, {};", table), "b32", {"b32", "b32", "b32"});
}

void add_fields(Sweep& sweep) {
  for (const std::string t : {"b32", "b64"}) {
    sweep.add(fmt::format("popc.{} %d, %a;", t), "u32", {t});
    sweep.add(fmt::format("clz.{} %d, %a;", t), "u32", {t});
    sweep.add(fmt::format("brev.{} %d, %a;", t), t, {t});
    const std::string width = t.substr(1);
    for (const char sign : {'u', 's'}) {
      sweep.add(fmt::format("bfind.{}{} %d, %a;", sign, width), "u32", {t});
      sweep.add(fmt::format("bfind.shiftamt.{}{} %d, %a;", sign, width), "u32", {t});
      sweep.add(fmt::format("bfe.{}{} %d, %a, %b, %c;", sign, width), t, {t, "field", "field"});
      sweep.add(fmt::format("bfe.{}{} %d, %a, %b, 8;", sign, width), t, {t, "field"});
    }
    sweep.add(fmt::format("mov.b32 %t, 11;\nbfi.{} %d, %a, %a, %b, %c;", t), t, {t, "field", "field"});
    sweep.add(fmt::format("bfi.{} %d, %a, %b, %c, 7;", t), t, {t, t, "field"});
  }
  sweep.add("fns.b32 %d, %a, %b, %c;", "b32", {"b32", "lane", "nth"});
  sweep.add("fns.b32 %d, %a, 3, %b;", "b32", {"b32", "nth"});
  for (const char* mode : {"clamp", "wrap"}) {
    for (const std::string& t : kWords)
      sweep.add(fmt::format("szext.{}.{} %d, %a, %b;", mode, t), "b32", {"b32", "shift"});
    sweep.add(fmt::format("bmsk.{}.b32 %d, %a, %b;", mode), "b32", {"shift", "shift"});
  }
}

void add_integer_comparisons(Sweep& sweep) {
  const Names signed_relations = {"eq", "ne", "lt", "le", "gt", "ge"};
  const Names unsigned_relations = {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"};
  for (const std::string t : {"b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"}) {
    const Names equal = {"eq", "ne"};
    for (const std::string& relation : t[0] == 'b'   ? equal
                                       : t[0] == 's' ? signed_relations
                                                     : unsigned_relations) {
      sweep.add(fmt::format("setp.{}.{} %p, %a, %b;\nselp.b32 %d, 1, 0, %p;", relation, t), "flag", {t, t});
      if (t.ends_with("32")) sweep.add(fmt::format("set.{}.u32.{} %d, %a, %b;", relation, t), "b32", {t, t});
    }
  }
  for (const char* join : {"and", "or", "xor"})
    sweep.add(
        fmt::format("setp.lt.s32 %r, %c, 0;\nsetp.ge.{}.s32 %p|%q, %a, %b, %r;\nselp.b32 %d, 1, 0, %p;\n"
                    "selp.b32 %t, 2, 0, %q;\nor.b32 %d, %d, %t;\nsetp.le.{}.u32 %p, %a, %b, !%r;\n"
                    "selp.b32 %t, 4, 0, %p;\nor.b32 %d, %d, %t;",
                    join, join),
        "flag", {"s32", "s32", "s32"});
  sweep.add("set.gt.f32.s32 %d, %a, %b;", "b32", {"s32", "s32"});
}

}  // namespace

Suite integer_sweep() {
  Sweep sweep("integer");
  add_arithmetic(sweep);
  add_carries(sweep);
  add_logic(sweep);
  add_fields(sweep);
  add_integer_comparisons(sweep);
  return sweep.take();
}

}  // namespace ak::emulator::differential
