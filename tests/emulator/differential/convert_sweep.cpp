// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>

#include "tests/emulator/differential/sweep.h"

namespace ak::emulator::differential {
namespace {

using Names = std::vector<std::string>;
const Names kIntegers = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
const Names kFloats = {"f16", "bf16", "f32", "f64"};

void add(Sweep& sweep, const std::string& modifiers, const std::string& to, const std::string& from,
         Rule rule = kExact) {
  sweep.add(fmt::format("cvt{}.{}.{} %d, %a;", modifiers, to, from), to, {from}, rule);
}

/// Whether `to` holds every value of `from`: PTX has no .sat there.
bool wider(const std::string& to, const std::string& from) {
  const int to_bits = std::stoi(to.substr(1)), from_bits = std::stoi(from.substr(1));
  return to[0] == from[0] ? to_bits >= from_bits : to[0] == 's' && to_bits > from_bits;
}

void add_integers(Sweep& sweep) {
  for (const std::string& to : kIntegers) {
    for (const std::string& from : kIntegers) {
      if (to == from) continue;
      add(sweep, "", to, from);
      if (!wider(to, from)) add(sweep, ".sat", to, from);
    }
  }
  for (const std::string t : {"s16", "u16"})
    sweep.add(fmt::format("cvt.pack.sat.{}.s32 %d, %a, %b;", t), "b32", {"s32", "s32"});
  for (const std::string t : {"s8", "u8", "s4", "u4", "s2", "u2"})
    sweep.add(fmt::format("cvt.pack.sat.{}.s32.b32 %d, %a, %b, %c;", t), "b32", {"s32", "s32", "b32"});
}

void add_integers_and_floats(Sweep& sweep) {
  for (const std::string& number : kFloats) {
    const bool bfloat = number == "bf16";
    for (const std::string& integer : kIntegers) {
      if (bfloat && integer.ends_with('8')) continue;  // not in PTX
      for (const char* rounding : {".rni", ".rzi", ".rmi", ".rpi"}) {
        add(sweep, rounding, integer, number);
        if (number == "f32") add(sweep, rounding + std::string(".ftz"), integer, number);
      }
      if (!bfloat) add(sweep, ".rzi.sat", integer, number);
      for (const char* rounding : {".rn", ".rz", ".rm", ".rp"}) add(sweep, rounding, number, integer);
      if (!bfloat) add(sweep, ".rn.sat", number, integer);
    }
  }
}

void add_floats(Sweep& sweep) {
  for (const char* rounding : {".rn", ".rz", ".rm", ".rp"}) {
    add(sweep, rounding, "f32", "f64", kAnyNan);
    add(sweep, rounding + std::string(".ftz.sat"), "f32", "f64", kAnyNan);
    add(sweep, rounding, "f16", "f64", kAnyNan);
  }
  for (const char* rounding : {".rn", ".rz"}) {
    for (const std::string half : {"f16", "bf16"}) {
      add(sweep, rounding, half, "f32", kAnyNan);
      add(sweep, rounding + std::string(".relu"), half, "f32", kAnyNan);
      add(sweep, rounding + std::string(".satfinite"), half, "f32", kAnyNan);
      add(sweep, rounding + std::string(".relu.satfinite"), half, "f32", kAnyNan);
    }
    add(sweep, rounding + std::string(".ftz"), "f16", "f32", kAnyNan);
    add(sweep, rounding + std::string(".sat"), "f16", "f32", kAnyNan);
  }
  for (const char* rounding : {".rm", ".rp"}) add(sweep, rounding, "f16", "f32", kAnyNan);
  for (const char* modifier : {"", ".ftz", ".sat", ".ftz.sat"}) {
    add(sweep, modifier, "f32", "f16", kAnyNan);
    add(sweep, modifier, "f64", "f32", kAnyNan);
  }
  add(sweep, "", "f32", "bf16", kAnyNan);
  add(sweep, "", "f64", "f16", kAnyNan);
  for (const char* rounding : {".rni", ".rzi", ".rmi", ".rpi"}) {
    for (const std::string t : {"f16", "f32", "f64"}) {
      add(sweep, rounding, t, t, kAnyNan);
      add(sweep, rounding + std::string(".sat"), t, t, kAnyNan);
    }
    add(sweep, rounding + std::string(".ftz"), "f32", "f32", kAnyNan);
  }
}

void add_narrow(Sweep& sweep) {
  for (const char* rounding : {"rn", "rz"}) {
    for (const std::string pair : {"f16x2", "bf16x2"}) {
      for (const char* modifier : {"", ".relu", ".satfinite", ".relu.satfinite"})
        sweep.add(fmt::format("cvt.{}{}.{}.f32 %d, %a, %b;", rounding, modifier, pair), pair, {"f32", "f32"},
                  kAnyNan);
    }
  }
  for (const char* modifier : {".rna", ".rn", ".rz", ".rn.relu", ".rz.relu", ".rna.satfinite"})
    sweep.add(fmt::format("cvt{}.tf32.f32 %d, %a;", modifier), "f32", {"f32"}, kAnyNan);
  for (const std::string pair : {"e4m3x2", "e5m2x2"}) {
    for (const char* relu : {"", ".relu"}) {
      sweep.add(fmt::format("cvt.rn.satfinite{}.{}.f32 %d, %a, %b;", relu, pair), "b16", {"f32", "f32"});
      sweep.add(fmt::format("cvt.rn.satfinite{}.{}.f16x2 %d, %a;", relu, pair), "b16", {"f16x2"});
      sweep.add(fmt::format("cvt.rn{}.f16x2.{} %d, %a;", relu, pair), "f16x2", {pair}, kAnyNan);
    }
  }
}

}  // namespace

Suite convert_sweep() {
  Sweep sweep("convert");
  add_integers(sweep);
  add_integers_and_floats(sweep);
  add_floats(sweep);
  add_narrow(sweep);
  return sweep.take();
}

}  // namespace ak::emulator::differential
