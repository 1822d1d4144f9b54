// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "tests/emulator/differential/sweep.h"

namespace ak::emulator::differential {
namespace {

using Names = std::vector<std::string>;

void add_arithmetic(Sweep& sweep, const std::string& t, bool bfloat) {
  const Names modifiers = bfloat ? Names{""} : Names{"", ".ftz", ".sat", ".ftz.sat"};
  for (const std::string& modifier : modifiers) {
    for (const char* op : {"add", "sub", "mul"})
      sweep.add(fmt::format("{}.rn{}.{} %d, %a, %b;", op, modifier, t), t, {t, t});
    sweep.add(fmt::format("fma.rn{}.{} %d, %a, %b, %c;", modifier, t), t, {t, t, t});
  }
  for (const std::string& flush : bfloat ? Names{""} : Names{"", ".ftz"}) {
    sweep.add(fmt::format("fma.rn{}.relu.{} %d, %a, %b, %c;", flush, t), t, {t, t, t});
    for (const char* nan : {"", ".NaN"}) {
      for (const char* sign : {"", ".xorsign.abs"}) {
        for (const char* op : {"min", "max"})
          sweep.add(fmt::format("{}{}{}{}.{} %d, %a, %b;", op, flush, nan, sign, t), t, {t, t});
      }
    }
    for (const char* op : {"neg", "abs"})
      sweep.add(fmt::format("{}{}.{} %d, %a;", op, flush, t), t, {t}, kAnyNan);
  }
}

void add_comparisons(Sweep& sweep, const std::string& t, bool bfloat) {
  const bool pair = t.ends_with("x2");
  for (const char* relation :
       {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}) {
    for (const std::string& flush : bfloat ? Names{""} : Names{"", ".ftz"}) {
      if (pair)
        sweep.add(fmt::format("setp.{}{}.{} %p|%q, %a, %b;\nselp.b32 %d, 1, 0, %p;\nselp.b32 %t, 2, 0, %q;\n"
                              "or.b32 %d, %d, %t;",
                              relation, flush, t),
                  "flag", {t, t});
      else
        sweep.add(fmt::format("setp.{}{}.{} %p, %a, %b;\nselp.b32 %d, 1, 0, %p;", relation, flush, t), "flag",
                  {t, t});
    }
  }
  if (!pair) {
    sweep.add(fmt::format("set.lt.u32.{} %d, %a, %b;", t), "b32", {t, t});
    sweep.add(fmt::format("set.geu.{0}.{0} %d, %a, %b;", t), "b16", {t, t});
  }
}

// Twice the errors that the PTX ISA states.
void add_half_approximations(Sweep& sweep) {
  for (const std::string t : {"f16", "f16x2"}) {
    sweep.add(fmt::format("ex2.approx.{} %d, %a;", t), t, {t}, close_to(std::exp2(-8.9), std::exp2(-23)));
    sweep.add(fmt::format("tanh.approx.{} %d, %a;", t), t, {t}, close_to(0, std::exp2(-9.9)));
  }
  for (const std::string t : {"bf16", "bf16x2"}) {
    sweep.add(fmt::format("ex2.approx.ftz.{} %d, %a;", t), t, {t}, close_to(std::exp2(-6)));
    sweep.add(fmt::format("tanh.approx.{} %d, %a;", t), t, {t}, close_to(0, std::exp2(-7)));
  }
}

}  // namespace

Suite half_sweep() {
  Sweep sweep("half");
  for (const std::string t : {"f16", "f16x2", "bf16", "bf16x2"}) {
    const bool bfloat = t.starts_with('b');
    add_arithmetic(sweep, t, bfloat);
    add_comparisons(sweep, t, bfloat);
  }
  add_half_approximations(sweep);
  // Results around the smallest normal number: which side of rounding they are flushed on.
  sweep.add("{\n.reg .b16 %least;\nmov.b16 %least, 0x0401;\nmul.rn.ftz.f16 %d, %a, %least;\n}", "f16",
            {"below_one_f16"});
  sweep.add("{\n.reg .b16 %least;\nmov.b16 %least, 0x0400;\nmul.rn.ftz.f16 %d, %a, %least;\n}", "f16",
            {"below_one_f16"});
  return sweep.take();
}

}  // namespace ak::emulator::differential
