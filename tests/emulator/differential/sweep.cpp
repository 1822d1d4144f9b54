// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/differential/sweep.h"

#include <fmt/format.h>

#include <array>

namespace ak::emulator::differential {
namespace {

constexpr std::uint32_t kThreads = 416;  // operands of each instruction; all answers together stay below 3 MB

constexpr std::array<std::string_view, 3> kRegisters = {"%a", "%b", "%c"};

std::string declarations(std::string_view result, const std::vector<std::string>& operands) {
  std::string text = fmt::format(".reg .b{} %d;\n", result == "flag" ? 32 : register_bits_of(result));
  for (std::size_t i = 0; i < operands.size(); ++i)
    text += fmt::format(".reg .b{} {};\n", register_bits_of(operands[i]), kRegisters[i]);
  return text + ".reg .b32 %i, %t, %u;\n.reg .b64 %in, %out;\n.reg .pred %p, %q, %r;\n";
}

std::string loads(const std::vector<std::string>& operands) {
  std::string text;
  for (std::size_t i = 0; i < operands.size(); ++i)
    text += fmt::format("ld.global.b{} {}, [%in+{}];\n", register_bits_of(operands[i]), kRegisters[i], 8 * i);
  return text;
}

std::uint64_t sign_of(std::string_view type) {
  return type.ends_with("x2") ? 0x80008000u : 1ull << (register_bits_of(type) - 1);
}

std::vector<std::uint64_t> inputs(const std::vector<std::string>& operands, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint64_t> values;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      std::uint64_t value = value_of(operands[i], random);
      // Equal and opposite operands, which random choice rarely gives.
      const bool any_value = operands[i] != "field" && operands[i] != "lane" && operands[i] != "nth";
      if (i > 0 && any_value && operands[i] == operands[i - 1] && random.chance(12))
        value = values.back() ^ (random.chance(40) ? sign_of(operands[i]) : 0);
      values.push_back(value);
    }
  }
  return values;
}

}  // namespace

void Sweep::add(const std::string& instruction, std::string_view result,
                const std::vector<std::string>& operands, Rule rule) {
  Case one;
  one.name = instruction;
  const std::uint64_t hash = hash_of(std::as_bytes(std::span(instruction)));
  one.entry =
      fmt::format("sweep_{:016x}", hash);  // not numbered: a case put in between leaves the others' keys
  one.threads = kThreads;
  one.inputs = inputs(operands, hash);
  one.inputs_per_thread = static_cast<int>(operands.size());
  one.result = number_of(result);
  one.results = kThreads;
  one.rule = rule;
  const int result_bytes = bytes(one.result);
  one.text = fmt::format(
      ".visible .entry {}(.param .u64 in, .param .u64 out)\n{{\n{}"
      "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %i, %tid.x;\n"
      "mad.wide.u32 %in, %i, {}, %in;\nmad.wide.u32 %out, %i, {}, %out;\n{}{}\nst.global.b{} [%out], "
      "%d;\nret;\n}}\n",
      one.entry, declarations(result, operands), 8 * operands.size(), result_bytes, loads(operands),
      instruction, 8 * result_bytes);
  suite_.cases.push_back(std::move(one));
}

}  // namespace ak::emulator::differential
