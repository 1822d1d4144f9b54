// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "tests/emulator/differential/sweep.h"

namespace ak::emulator::differential {
namespace {

using Names = std::vector<std::string>;
const Names kRoundings = {"rn", "rz", "rm", "rp"};
const Names kFlushes = {"", ".ftz"};
const Names kRelations = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                          "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

void add_f32_arithmetic(Sweep& sweep) {
  for (const std::string& rounding : kRoundings) {
    for (const std::string& flush : kFlushes) {
      for (const char* saturate : {"", ".sat"}) {
        const std::string form = fmt::format("{}{}{}.f32", rounding, flush, saturate);
        for (const char* op : {"add", "sub", "mul"})
          sweep.add(fmt::format("{}.{} %d, %a, %b;", op, form), "f32", {"f32", "f32"});
        sweep.add(fmt::format("fma.{} %d, %a, %b, %c;", form), "f32", {"f32", "f32", "f32"});
      }
      const std::string form = rounding + flush + ".f32";
      sweep.add(fmt::format("div.{} %d, %a, %b;", form), "f32", {"f32", "f32"}, kAnyNan);
      sweep.add(fmt::format("rcp.{} %d, %a;", form), "f32", {"f32"}, kAnyNan);
      sweep.add(fmt::format("sqrt.{} %d, %a;", form), "f32", {"f32"}, kAnyNan);
    }
  }
  for (const std::string& flush : kFlushes) {
    for (const char* nan : {"", ".NaN"}) {
      for (const char* sign : {"", ".xorsign.abs"}) {
        for (const char* op : {"min", "max"})
          sweep.add(fmt::format("{}{}{}{}.f32 %d, %a, %b;", op, flush, nan, sign), "f32", {"f32", "f32"});
      }
    }
    for (const char* op : {"abs", "neg"})
      sweep.add(fmt::format("{}{}.f32 %d, %a;", op, flush), "f32", {"f32"}, kAnyNan);
  }
}

void add_f64_arithmetic(Sweep& sweep) {
  for (const std::string& rounding : kRoundings) {
    for (const char* op : {"add", "sub", "mul", "div"})
      sweep.add(fmt::format("{}.{}.f64 %d, %a, %b;", op, rounding), "f64", {"f64", "f64"}, kAnyNan);
    sweep.add(fmt::format("fma.{}.f64 %d, %a, %b, %c;", rounding), "f64", {"f64", "f64", "f64"}, kAnyNan);
    for (const char* op : {"rcp", "sqrt"})
      sweep.add(fmt::format("{}.{}.f64 %d, %a;", op, rounding), "f64", {"f64"}, kAnyNan);
  }
  for (const char* op : {"min", "max"})
    sweep.add(fmt::format("{}.f64 %d, %a, %b;", op), "f64", {"f64", "f64"}, kAnyNan);
  for (const char* op : {"abs", "neg"}) sweep.add(fmt::format("{}.f64 %d, %a;", op), "f64", {"f64"}, kAnyNan);
}

void add_comparisons(Sweep& sweep) {
  for (const std::string t : {"f32", "f64"}) {
    for (const std::string& relation : kRelations) {
      sweep.add(fmt::format("setp.{}.{} %p, %a, %b;\nselp.b32 %d, 1, 0, %p;", relation, t), "flag", {t, t});
      sweep.add(
          fmt::format("setp.lt.s32 %r, %c, 0;\nsetp.{}.and.{} %p|%q, %a, %b, %r;\nselp.b32 %d, 1, 0, %p;\n"
                      "selp.b32 %t, 2, 0, %q;\nor.b32 %d, %d, %t;",
                      relation, t),
          "flag", {t, t, "s32"});
    }
    for (const char* kind : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"})
      sweep.add(fmt::format("testp.{}.{} %p, %a;\nselp.b32 %d, 1, 0, %p;", kind, t), "flag", {t});
    sweep.add(fmt::format("copysign.{} %d, %a, %b;", t), t, {t, t}, kAnyNan);
    sweep.add(fmt::format("set.lt.u32.{} %d, %a, %b;", t), "b32", {t, t});
    sweep.add(fmt::format("set.geu.f32.{} %d, %a, %b;", t), "b32", {t, t});
  }
  for (const std::string& relation : kRelations)
    sweep.add(fmt::format("setp.{}.ftz.f32 %p, %a, %b;\nselp.b32 %d, 1, 0, %p;", relation), "flag",
              {"f32", "f32"});
}

// Twice the errors that the PTX ISA states, since the GPU's answer and the emulator's may err both ways.
void add_approximations(Sweep& sweep) {
  const auto power = [](double exponent) { return std::exp2(exponent); };
  const double smallest = power(-148);  // two steps of subnormal numbers
  for (const std::string& flush : kFlushes) {
    sweep.add(fmt::format("rcp.approx{}.f32 %d, %a;", flush), "f32", {"f32"}, close_to(power(-22), smallest));
    sweep.add(fmt::format("sqrt.approx{}.f32 %d, %a;", flush), "f32", {"f32"}, close_to(power(-22)));
    sweep.add(fmt::format("rsqrt.approx{}.f32 %d, %a;", flush), "f32", {"f32"}, close_to(power(-21.9)));
    sweep.add(fmt::format("ex2.approx{}.f32 %d, %a;", flush), "f32", {"f32"}, close_to(power(-21), smallest));
    sweep.add(fmt::format("lg2.approx{}.f32 %d, %a;", flush), "f32", {"f32"},
              close_to(power(-21), power(-21)));
    sweep.add(fmt::format("sin.approx{}.f32 %d, %a;", flush), "f32", {"angle"}, close_to(0, power(-19.5)));
    sweep.add(fmt::format("cos.approx{}.f32 %d, %a;", flush), "f32", {"angle"}, close_to(0, power(-19.5)));
    // Results around the smallest normal number: which side of rounding they are flushed on.
    sweep.add(fmt::format("mul.rn{}.f32 %d, %a, 0f00800000;", flush), "f32", {"below_one"});
    sweep.add(fmt::format("mul.rp{}.f32 %d, %a, 0f00800000;", flush), "f32", {"below_one"});
    sweep.add(fmt::format("mul.rn{}.f32 %d, %a, 0f00800001;", flush), "f32", {"below_one"});
    sweep.add(fmt::format("mul.rz{}.f32 %d, %a, 0f00800001;", flush), "f32", {"below_one"});
    sweep.add(fmt::format("fma.rn{}.f32 %d, %a, 0f00800000, 0f80000000;", flush), "f32", {"below_one"});
    sweep.add(fmt::format("fma.rn{}.f32 %d, %a, 0f00800001, 0f80000000;", flush), "f32", {"below_one"});
    sweep.add(fmt::format("div.rn{}.f32 %d, 0f00800001, %a;", flush), "f32", {"above_one"});
    // The bound says nothing of so small numbers; the GPU's answer is the definition.
    for (const char* op : {"sin", "cos"})
      sweep.add(fmt::format("{{ {}.approx{}.f32 %d, %a; }}", op, flush), "f32", {"subnormal"});
    for (const char* kind : {"approx", "full"})
      sweep.add(fmt::format("div.{}{}.f32 %d, %a, %b;", kind, flush), "f32", {"f32", "f32"},
                close_to(power(-21), smallest));
  }
  sweep.add("tanh.approx.f32 %d, %a;", "f32", {"f32"}, close_to(power(-10), smallest));
  sweep.add("rcp.approx.ftz.f64 %d, %a;", "f64", {"f64"}, close_to(power(-19)));
  sweep.add("rsqrt.approx.ftz.f64 %d, %a;", "f64", {"f64"}, close_to(power(-19)));
  sweep.add("rsqrt.approx.f64 %d, %a;", "f64", {"f64"}, close_to(power(-19)));
}

}  // namespace

Suite float_sweep() {
  Sweep sweep("float");
  add_f32_arithmetic(sweep);
  add_f64_arithmetic(sweep);
  add_comparisons(sweep);
  add_approximations(sweep);
  return sweep.take();
}

}  // namespace ak::emulator::differential
