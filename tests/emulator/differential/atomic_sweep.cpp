// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>

#include "tests/emulator/differential/sweep.h"

namespace ak::emulator::differential {
namespace {

// Every thread has memory of its own, so that the order of threads does not matter: %a before, then what the
// instruction makes of it.

std::string address_of_cell(const std::string& space) {
  if (space == "global") return "mov.u64 %cell, scratch;\nmad.wide.u32 %cell, %i, 16, %cell;\n";
  return ".shared .align 16 .b8 cells[7168];\nmov.u64 %cell, cells;\nmad.wide.u32 %cell, %i, 16, %cell;\n";
}

/// @param operation with everything behind the space: "add.f32".
void add_atom(Sweep& sweep, const std::string& space, const std::string& operation, const std::string& type,
              Rule rule = kExact) {
  const bool swaps = operation.starts_with("cas");
  const int bits = register_bits_of(type);
  // A wrong value before the operation corrupts the result.
  sweep.add(fmt::format("{{\n.reg .b64 %cell;\n.reg .b{0} %before;\n{1}st.{2}.b{0} [%cell], %a;\n"
                        "atom.{2}.{3} %before, [%cell], %b{4};\nld.{2}.b{0} %d, [%cell];\n"
                        "setp.ne.u{0} %p, %before, %a;\n@%p not.b{0} %d, %d;\n}}",
                        bits, address_of_cell(space), space, operation, swaps ? ", %c" : ""),
            type, swaps ? std::vector{type, type, type} : std::vector{type, type}, rule);
}

void add_red(Sweep& sweep, const std::string& space, const std::string& operation, const std::string& type,
             Rule rule = kExact) {
  sweep.add(fmt::format("{{\n.reg .b64 %cell;\n{1}st.{2}.b{0} [%cell], %a;\n"
                        "red.{2}.{3} [%cell], %b;\nld.{2}.b{0} %d, [%cell];\n}}",
                        register_bits_of(type), address_of_cell(space), space, operation),
            type, {type, type}, rule);
}

/// Two neighbours at once: %a + %b and %b + %c, of which a thread keeps one.
void add_vector(Sweep& sweep, const std::string& operation, const std::string& type) {
  const int bits = register_bits_of(type);
  for (const char* kind : {"atom", "red"}) {
    const std::string result = kind == std::string("atom") ? "{%t0, %t1}, " : "";
    sweep.add(
        fmt::format(
            "{{\n.reg .b64 %cell, %half;\n.reg .b{0} %t0, %t1;\n{1}st.global.v2.b{0} [%cell], {{%a, %b}};\n"
            "{2}.global.{3} {4}[%cell], {{%b, %c}};\nand.b32 %t, %i, 1;\n"
            "mad.wide.u32 %half, %t, {5}, %cell;\nld.global.b{0} %d, [%half];\n}}",
            bits, address_of_cell("global"), kind, operation, result, bits / 8),
        type, {type, type, type});
  }
}

}  // namespace

Suite atomic_sweep() {
  Sweep sweep("atomic");
  for (const std::string space : {"global", "shared"}) {
    for (const std::string t : {"u32", "s32", "u64", "s64"}) {
      for (const char* op : {"min", "max"}) add_atom(sweep, space, fmt::format("{}.{}", op, t), t);
      if (t != "s64") add_atom(sweep, space, "add." + t, t);
    }
    for (const char* op : {"inc", "dec"}) add_atom(sweep, space, fmt::format("{}.u32", op), "u32");
    for (const std::string t : {"b32", "b64"}) {
      for (const char* op : {"and", "or", "xor", "exch", "cas"})
        add_atom(sweep, space, fmt::format("{}.{}", op, t), t);
    }
    add_atom(sweep, space, "cas.b16", "b16");
    for (const std::string t : {"f32", "f64", "f16", "bf16", "f16x2", "bf16x2"}) {
      const std::string form = (t.find("16") == std::string::npos ? "add." : "add.noftz.") + t;
      add_atom(sweep, space, form, t, kAnyNan);
      add_red(sweep, space, form, t, kAnyNan);
    }
  }
  add_vector(sweep, "add.v2.f32", "f32");
  for (const std::string t : {"f16", "bf16", "f16x2", "bf16x2"}) {
    for (const char* op : {"add", "min", "max"}) add_vector(sweep, fmt::format("{}.noftz.v2.{}", op, t), t);
  }
  return sweep.take();
}

}  // namespace ak::emulator::differential
