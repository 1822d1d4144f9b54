// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/precision_audit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <variant>
#include <vector>

#include "core/plan/dtype.h"
#include "emulator/parse/lexer.h"

namespace ak::runtime {
namespace {

/// From the most precise on.
enum class Precision : std::uint8_t { fp64, fp32, tf32, bits16, bits8 };

struct Format {
  std::string_view suffix;  ///< of a PTX opcode
  Precision precision;
};
constexpr std::array kFormats{
    Format{"f32", Precision::fp32},      Format{"f32x2", Precision::fp32},
    Format{"tf32", Precision::tf32},     Format{"f16", Precision::bits16},
    Format{"f16x2", Precision::bits16},  Format{"bf16", Precision::bits16},
    Format{"bf16x2", Precision::bits16}, Format{"e4m3", Precision::bits8},
    Format{"e5m2", Precision::bits8},    Format{"e4m3x2", Precision::bits8},
    Format{"e5m2x2", Precision::bits8},  Format{"e3m2x2", Precision::bits8},
    Format{"e2m3x2", Precision::bits8},  Format{"e2m1x2", Precision::bits8},
    Format{"e3m2", Precision::bits8},    Format{"e2m3", Precision::bits8},
    Format{"e2m1", Precision::bits8},    Format{"f8f6f4", Precision::bits8},
};

/// These move bytes, whatever type they name.
constexpr std::array<std::string_view, 8> kMoves{"ld", "ldu", "st", "mov", "cp", "selp", "shfl", "prmt"};

std::string_view words(Precision precision) {
  constexpr std::array<std::string_view, 5> kWords{"float64", "float32", "tf32", "16-bit floats",
                                                   "8-bit floats"};
  return kWords[static_cast<std::size_t>(precision)];
}

Precision precision_of(DType dtype) {
  switch (info(dtype).bytes) {
    case 8:
      return Precision::fp64;
    case 4:
      return Precision::fp32;
    case 2:
      return Precision::bits16;
    default:
      return Precision::bits8;
  }
}

/// The lowest precision that the problem mentions; nothing when it has tensors of integers.
std::optional<Precision> allowed(const ProblemInstance& problem) {
  Precision lowest = Precision::fp64;
  for (const auto* tensors : {&problem.definition.inputs, &problem.definition.outputs}) {
    for (const TensorSpec& tensor : *tensors) {
      if (!info(tensor.dtype).floating) return std::nullopt;
      lowest = std::max(lowest, precision_of(tensor.dtype));
    }
  }
  for (const auto& [name, value] : problem.params) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) continue;
    if (*text == "tf32") lowest = std::max(lowest, Precision::tf32);
    if (const auto dtype = parse_dtype(*text); dtype && info(*dtype).floating)
      lowest = std::max(lowest, precision_of(*dtype));
  }
  return lowest;
}

/// The lowest precision among an opcode's types; nothing for a move and where it names none.
std::optional<Precision> lowest_of(std::string_view name, std::span<const std::string_view> suffixes) {
  if (std::ranges::find(kMoves, name) != kMoves.end() &&
      std::ranges::find(suffixes, "reduce") == suffixes.end())
    return std::nullopt;
  std::optional<Precision> lowest;
  for (std::string_view suffix : suffixes) {
    if (suffix.starts_with("kind::")) suffix.remove_prefix(6);
    const auto format = std::ranges::find(kFormats, suffix, &Format::suffix);
    if (format != kFormats.end()) lowest = std::max(lowest.value_or(Precision::fp64), format->precision);
  }
  return lowest;
}

/// A word of PTX with the dotted words behind it, blanks or not: opcodes, wherever they stand, and special registers.
struct DottedWord {
  std::string_view name;
  std::vector<std::string_view> suffixes;
  int line = 0;  ///< 1-based

  [[nodiscard]] std::string text() const {
    return suffixes.empty() ? std::string(name) : fmt::format("{}.{}", name, fmt::join(suffixes, "."));
  }
};

/// Reads the dotted words of PTX, whatever is around them: guards, braces, labels, source locations, comments.
class DottedWords {
 public:
  explicit DottedWords(std::string_view text) : lexer_(text), token_(lexer_.next()) {}

  /// Nothing when the text is over, or is not PTX from there on: `bad()`.
  std::optional<DottedWord> next() {
    while (token_.kind != emulator::TokenKind::word) {
      if (token_.kind == emulator::TokenKind::end || bad()) return std::nullopt;
      token_ = lexer_.next();
    }
    DottedWord word{.name = token_.text, .suffixes = {}, .line = token_.line};
    for (token_ = lexer_.next(); token_.kind == emulator::TokenKind::dotted; token_ = lexer_.next())
      word.suffixes.push_back(token_.text);
    return word;
  }
  [[nodiscard]] bool bad() const { return token_.kind == emulator::TokenKind::bad; }
  /// Of what was read last.
  [[nodiscard]] const emulator::Token& token() const { return token_; }

 private:
  emulator::Lexer lexer_;
  emulator::Token token_;
};

Outcome refused(std::string message) {
  return {.status = Status::invalid_candidate,
          .stage = StageId::resources,
          .message = std::move(message),
          .diagnostics = {},
          .gate = Gate::precision};
}

}  // namespace

std::optional<Outcome> audit_precision(const ProblemInstance& problem, std::string_view ptx) {
  const auto least = allowed(problem);
  if (!least || !gate_enabled(Gate::precision)) return std::nullopt;
  DottedWords words_of_ptx(ptx);
  while (const auto word = words_of_ptx.next()) {
    const auto found = lowest_of(word->name, word->suffixes);
    if (!found || *found <= *least) continue;
    return refused(fmt::format(
        "the program computes in {} ({} at PTX line {}), but tensors and parameters of {} ask for {}",
        words(*found), word->text(), word->line, problem.definition.name, words(*least)));
  }
  if (!words_of_ptx.bad()) return std::nullopt;
  return refused(fmt::format("the program's precision cannot be judged: PTX line {}: {}",
                             words_of_ptx.token().line, words_of_ptx.token().text));
}

}  // namespace ak::runtime
