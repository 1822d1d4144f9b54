// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/call_chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/machine/findings.h"
#include "emulator/machine/symbol_names.h"

namespace ak::emulator {
namespace {

constexpr std::size_t kMaxNamed = 4;  ///< calls in a sentence (chosen)

/// "scale" for "_Z5scalePfi", "Shape::area" for a member; without the parameters. Names that are
/// not mangled stay.
std::string plain_function(const std::string& symbol) {
  const std::optional<std::string> name = demangled(symbol);
  if (!name) return symbol;
  const std::string& full = *name;
  // A template's name has its result in front; parentheses within <> are part of an argument.
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (full[i] == '<') ++depth;
    if (full[i] == '>') --depth;
    if (depth == 0 && full[i] == ' ') begin = i + 1;
    if (depth == 0 && full[i] == '(' && i > begin) return full.substr(begin, i - begin);
  }
  return full.substr(begin);
}

/// The function that an op belongs to.
std::string function_of(const Program& program, Index op) {
  const auto after = std::find_if(program.functions.begin(), program.functions.end(),
                                  [&](const CalledFunction& function) { return function.entry > op; });
  return after == program.functions.begin() ? std::string{} : plain_function((after - 1)->name);
}

}  // namespace

std::vector<Index> calls_of(const Warp& warp, int lane) {
  std::vector<Index> calls;
  const auto here = std::find_if(warp.fragments.begin(), warp.fragments.end(), [&](const Fragment& fragment) {
    return fragment.state != FragmentState::done && (fragment.lanes >> lane & 1u) != 0;
  });
  if (here == warp.fragments.end()) return calls;
  for (auto point = here->returns.rbegin(); point != here->returns.rend(); ++point)
    calls.push_back(point->pc - 1);
  return calls;
}

std::string describe_calls(const Program& program, Index op, const std::vector<Index>& calls,
                           const std::string& own_file) {
  std::string words;
  Index inside = op;
  for (std::size_t i = 0; i < std::min(calls.size(), kMaxNamed); ++i) {
    const Place from = place_of(program, calls[i], own_file);
    words += fmt::format("{}in {}() called ", i == 0 ? "" : ", ", function_of(program, inside));
    words += from.line > 0 ? fmt::format("at line {}", from.line)
                           : fmt::format("at PTX line {}", program.facts[calls[i]].ptx_line);
    inside = calls[i];
  }
  if (calls.size() > kMaxNamed) words += fmt::format(", and {} more calls", calls.size() - kMaxNamed);
  return words;
}

Json calls_to_json(const Program& program, Index op, const std::vector<Index>& calls,
                   const std::string& own_file) {
  Json all = Json::array();
  Index inside = op;
  for (const Index call : calls) {
    const Place from = place_of(program, call, own_file);
    all.push_back({{"function", function_of(program, inside)},
                   {"file", from.file},
                   {"line", from.line},
                   {"column", from.column}});
    inside = call;
  }
  return all;
}

}  // namespace ak::emulator
