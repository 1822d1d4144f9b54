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
#include "emulator/parse/parser.h"
#include "runtime/precision/precision_flow.h"

namespace ak::runtime {
namespace {

/// From the most precise on.
enum class Precision : std::uint8_t { fp64, fp32, tf32, bits16, bits8 };

/// Of a type of PTX: nothing where it is none of floats that gates judge.
std::optional<Precision> precision_of(emulator::Type type) {
  using emulator::Type;
  switch (type) {
    case Type::f32:
    case Type::f32x2:
      return Precision::fp32;
    case Type::tf32:
      return Precision::tf32;
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2:
      return Precision::bits16;
    case Type::e4m3:
    case Type::e5m2:
    case Type::e4m3x2:
    case Type::e5m2x2:
    case Type::e3m2x2:
    case Type::e2m3x2:
    case Type::e2m1x2:
    case Type::e3m2:
    case Type::e2m3:
    case Type::e2m1:
      return Precision::bits8;
    default:
      return std::nullopt;
  }
}

/// Of a suffix of an opcode, which names types and the kinds of products that have one.
std::optional<Precision> precision_of(std::string_view suffix) {
  if (suffix.starts_with("kind::")) suffix.remove_prefix(6);
  if (suffix == "f8f6f4") return Precision::bits8;
  const auto type = emulator::parse_type(suffix);
  return type ? precision_of(*type) : std::nullopt;
}

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

/// Integers of 8 and 16 bits may be quantised floats; longer ones are counts and indices.
bool leaves_formats_open(DType dtype) { return !info(dtype).floating && info(dtype).bytes < 4; }

/// The lowest precision of tensors; nothing where formats are open, or where none has floats.
std::optional<Precision> lowest_of_tensors(const std::vector<TensorSpec>& tensors) {
  std::optional<Precision> lowest;
  for (const TensorSpec& tensor : tensors) {
    if (leaves_formats_open(tensor.dtype)) return std::nullopt;
    if (info(tensor.dtype).floating)
      lowest = std::max(lowest.value_or(Precision::fp64), precision_of(tensor.dtype));
  }
  return lowest;
}

std::optional<Precision> named_by(const Value& param) {
  const auto* text = std::get_if<std::string>(&param);
  if (text == nullptr) return std::nullopt;
  if (*text == "tf32") return Precision::tf32;
  const auto dtype = parse_dtype(*text);
  return dtype && info(*dtype).floating ? std::optional(precision_of(*dtype)) : std::nullopt;
}

/// The lowest precision that the problem mentions; nothing when it leaves the formats open.
std::optional<Precision> allowed(const ProblemInstance& problem) {
  const auto inputs = lowest_of_tensors(problem.definition.inputs),
             outputs = lowest_of_tensors(problem.definition.outputs);
  if (!inputs || !outputs) return std::nullopt;
  Precision lowest = std::max(*inputs, *outputs);
  if (const auto internal = problem.tolerance.internal) lowest = std::max(lowest, precision_of(*internal));
  for (const auto& [name, value] : problem.params)
    lowest = std::max(lowest, named_by(value).value_or(lowest));
  return lowest;
}

/// What arithmetic on the inputs must keep of them. A param that names the format of outputs says nothing of it.
/// Nothing where inputs have 16 bits and less, or may be computed with in such formats.
std::optional<DataFormat> format_of_data(const ProblemInstance& problem) {
  const auto inputs = lowest_of_tensors(problem.definition.inputs),
             outputs = lowest_of_tensors(problem.definition.outputs);
  if (!inputs) return std::nullopt;
  Precision lowest = *inputs;
  if (const auto internal = problem.tolerance.internal) lowest = std::max(lowest, precision_of(*internal));
  for (const auto& [name, value] : problem.params) {
    const auto named = named_by(value);
    if (named && named != outputs) lowest = std::max(lowest, *named);
  }
  if (lowest > Precision::tf32) return std::nullopt;
  constexpr std::array kMantissaBits{52, 23, 10};  // of float64, float32 and tf32
  return DataFormat{.wide = *inputs == Precision::fp64,
                    .mantissa_bits = kMantissaBits[static_cast<std::size_t>(lowest)]};
}

/// The lowest precision among an opcode's types; nothing for a move and where it names none.
std::optional<Precision> lowest_of(std::string_view name, std::span<const std::string_view> suffixes) {
  std::optional<Precision> lowest;
  for (const std::string_view suffix : suffixes) {
    if (const auto found = precision_of(suffix)) lowest = std::max(lowest.value_or(Precision::fp64), *found);
  }
  const bool moves = lowest && std::ranges::find(kMoves, name) != kMoves.end() &&
                     std::ranges::find(suffixes, "reduce") == suffixes.end();
  return moves ? std::nullopt : lowest;
}

/// A word of PTX with the dotted words behind it, blanks or not: opcodes, wherever they are, and special registers.
struct DottedWord {
  std::string_view name;
  std::span<const std::string_view> suffixes;  ///< until the next word is read
  int line = 0;                                ///< 1-based

  [[nodiscard]] std::string text() const {
    return suffixes.empty() ? std::string(name) : fmt::format("{}.{}", name, fmt::join(suffixes, "."));
  }
};

/// Reads the dotted words of PTX, whatever is around them: guards, braces, labels, source locations.
class DottedWords {
 public:
  explicit DottedWords(const emulator::TokenizedText& ptx) : next_(ptx.tokens.data()) {}

  /// Nothing when the text is over, or is not PTX from there on: `bad()`.
  std::optional<DottedWord> next() {
    suffixes_.clear();
    for (; next_->kind != emulator::TokenKind::word; ++next_)
      if (next_->kind == emulator::TokenKind::end || bad()) return std::nullopt;
    DottedWord word{.name = next_->text, .suffixes = {}, .line = next_->line};
    while ((++next_)->kind == emulator::TokenKind::dotted) suffixes_.push_back(next_->text);
    word.suffixes = suffixes_;
    return word;
  }
  [[nodiscard]] bool bad() const { return next_->kind == emulator::TokenKind::bad; }
  /// The one that was reached.
  [[nodiscard]] const emulator::Token& token() const { return *next_; }

 private:
  const emulator::Token* next_;
  std::vector<std::string_view> suffixes_;
};

/// Where the source has what a line of PTX does; of inlined code the place that it was inlined into, which is the
/// candidate's own.
struct SourcePlace {
  std::string file;
  int line = 0;  ///< 0: not known
};
SourcePlace source_of(const emulator::Module& module, int ptx_line) {
  for (const emulator::Function& function : module.functions) {
    const auto found = std::ranges::find(function.instructions, ptx_line, &emulator::Instruction::ptx_line);
    if (found == function.instructions.end() || found->location >= module.locations.size()) continue;
    emulator::SourceLocation place = module.locations[found->location];
    // Bounded: a cycle of a hostile program must end.
    for (std::size_t i = 0; place.inlined_at < module.locations.size() && i < module.locations.size(); ++i)
      place = module.locations[place.inlined_at];
    if (place.file < module.files.size()) return {module.files[place.file], place.line};
  }
  return {};
}
SourcePlace source_of(std::string_view ptx, int ptx_line) {
  const auto module = emulator::parse(ptx);
  return module ? source_of(module.value(), ptx_line) : SourcePlace{};
}

std::string words(int ptx_line, const SourcePlace& place) {
  const std::string_view file = std::string_view(place.file).substr(place.file.rfind('/') + 1);
  return place.line == 0 ? fmt::format("PTX line {}", ptx_line)
                         : fmt::format("PTX line {}, {} line {}", ptx_line, file, place.line);
}

Outcome refused(std::string message, const SourcePlace& place = {}) {
  Outcome outcome{.status = Status::invalid_candidate,
                  .stage = StageId::resources,
                  .message = std::move(message),
                  .diagnostics = {},
                  .gate = Gate::precision};
  if (place.line > 0) outcome.diagnostics.push_back({"error", outcome.message, place.line, 0});
  return outcome;
}

/// An instruction in a format that is lower than `least`, whatever it works on.
std::optional<Outcome> find_lower_format(const ProblemInstance& problem, Precision least,
                                         const emulator::TokenizedText& ptx) {
  DottedWords words_of_ptx(ptx);
  while (const auto word = words_of_ptx.next()) {
    const auto found = lowest_of(word->name, word->suffixes);
    if (!found || *found <= least) continue;
    const SourcePlace place = source_of(ptx.text, word->line);
    return refused(
        fmt::format("the program computes in {} ({} at {}), but tensors and parameters of {} ask for {}",
                    words(*found), word->text(), words(word->line, place), problem.definition.name,
                    words(least)),
        place);
  }
  if (!words_of_ptx.bad()) return std::nullopt;
  return refused(fmt::format("the program's precision cannot be judged: PTX line {}: {}",
                             words_of_ptx.token().line, words_of_ptx.token().text));
}

/// Inputs that lost precision on their way into arithmetic.
std::optional<Outcome> find_narrowed_data(const ProblemInstance& problem, const DataFormat& format,
                                          const emulator::TokenizedText& ptx) {
  const auto module = emulator::parse_code(ptx);
  if (!module)
    return refused(fmt::format("the program's precision cannot be judged: PTX line {}: {}",
                               module.error().line, module.error().message));
  const auto use = find_narrowed_use(module.value(), format);
  if (!use) return std::nullopt;
  const SourcePlace narrowed = source_of(ptx.text, use->narrowed_line),
                    used = source_of(ptx.text, use->used_line);
  const std::string where =
      use->narrowed_by.empty()
          ? std::string()
          : fmt::format(" that {} at {} shortened", use->narrowed_by, words(use->narrowed_line, narrowed));
  return refused(fmt::format("the program computes with data{} ({} at {}), but inputs of {} ask for {}",
                             where, use->used_by, words(use->used_line, used), problem.definition.name,
                             words(format.wide                 ? Precision::fp64
                                   : format.mantissa_bits < 23 ? Precision::tf32
                                                               : Precision::fp32)),
                 narrowed.line > 0 ? narrowed : used);
}

}  // namespace

std::optional<Outcome> audit_precision(const ProblemInstance& problem, const emulator::TokenizedText& ptx) {
  const auto least = allowed(problem);
  if (!least || !gate_enabled(Gate::precision)) return std::nullopt;
  if (auto lower = find_lower_format(problem, *least, ptx)) return lower;
  const auto format = format_of_data(problem);
  return format ? find_narrowed_data(problem, *format, ptx) : std::nullopt;
}

}  // namespace ak::runtime
