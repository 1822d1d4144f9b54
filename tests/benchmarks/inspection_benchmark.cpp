// SPDX-License-Identifier: Apache-2.0
// What a controller does with the PTX of every candidate, by part: inspection_benchmark FILE.ptx...
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "codegen/problem/problem_catalog.h"
#include "core/text/file.h"
#include "emulator/parse/lexer.h"
#include "emulator/parse/parser.h"
#include "runtime/build/code_hash.h"
#include "runtime/evaluator/precision_audit.h"

namespace ak::benchmark {
namespace {

constexpr int kRepetitions = 7;  // the best of them counts: others share the core (chosen)

double best_ms(const std::function<void()>& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRepetitions; ++i) {
    const auto began = std::chrono::steady_clock::now();
    work();
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count());
  }
  return best;
}

int run(int count, char** names) {
  std::vector<std::string> texts;
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += texts.emplace_back(read_file(names[i])).size();
  if (texts.empty()) {
    fmt::print(stderr, "usage: inspection_benchmark FILE.ptx...: milliseconds a file, by part\n");
    return 2;
  }
  const auto family = codegen::load_problem(codegen::find_problem("softmax"));
  const auto problem = codegen::instantiate(family, codegen::choose_params(family, {}));
  std::vector<emulator::TokenizedText> tokens;
  for (const std::string& text : texts) tokens.emplace_back(text);
  const auto each = [&](const std::string& part, const std::function<void(std::size_t)>& work) {
    const double ms = best_ms([&] {
      for (std::size_t i = 0; i < texts.size(); ++i) work(i);
    });
    fmt::print("{:<10} {:.3f}\n", part, ms / static_cast<double>(texts.size()));
  };
  fmt::print("{} files, {} bytes on average\n", texts.size(), bytes / texts.size());
  each("tokens", [&](std::size_t i) { emulator::TokenizedText again(texts[i]); });
  each("hash", [&](std::size_t i) { static_cast<void>(runtime::code_hash(tokens[i])); });
  each("parse", [&](std::size_t i) { static_cast<void>(emulator::parse_code(tokens[i])); });
  each("audit", [&](std::size_t i) { static_cast<void>(runtime::audit_precision(*problem, tokens[i])); });
  return 0;
}

}  // namespace
}  // namespace ak::benchmark

int main(int count, char** arguments) { return ak::benchmark::run(count - 1, arguments + 1); }
