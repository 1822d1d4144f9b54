// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/precision_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <variant>

#include "core/plan/dtype.h"

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

/// The opcode of a line of PTX without its guard, "" for anything else: directives, labels, braces.
std::string_view opcode_of(std::string_view line) {
  const auto skip = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t{"), line.size())); };
  skip();
  if (line.starts_with('@')) {
    line.remove_prefix(std::min(line.find_first_of(" \t"), line.size()));
    skip();
  }
  if (line.empty() || line.front() < 'a' || line.front() > 'z') return {};
  return line.substr(0, line.find_first_of(" \t;"));
}

std::optional<Precision> lowest_of(std::string_view opcode) {
  const std::size_t name_end = std::min(opcode.find('.'), opcode.size());
  if (std::ranges::find(kMoves, opcode.substr(0, name_end)) != kMoves.end()) return std::nullopt;
  std::optional<Precision> lowest;
  for (std::size_t at = name_end; at < opcode.size();) {
    const std::size_t end = std::min(opcode.find('.', at + 1), opcode.size());
    std::string_view suffix = opcode.substr(at + 1, end - at - 1);
    if (suffix.starts_with("kind::")) suffix.remove_prefix(6);
    const auto format = std::ranges::find(kFormats, suffix, &Format::suffix);
    if (format != kFormats.end()) lowest = std::max(lowest.value_or(Precision::fp64), format->precision);
    at = end;
  }
  return lowest;
}

}  // namespace

std::optional<Outcome> audit_precision(const ProblemInstance& problem, std::string_view ptx) {
  const auto least = allowed(problem);
  if (!least || !gate_enabled(Gate::precision)) return std::nullopt;
  for (int number = 1; !ptx.empty(); ++number) {
    const std::size_t end = std::min(ptx.find('\n'), ptx.size());
    const std::string_view opcode = opcode_of(ptx.substr(0, end));
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
    const auto found = lowest_of(opcode);
    if (!found || *found <= *least) continue;
    return Outcome{
        .status = Status::invalid_candidate,
        .stage = StageId::resources,
        .message = fmt::format("the program computes in {} ({} at PTX line {}), but tensors and "
                               "parameters of {} ask for {}",
                               words(*found), opcode, number, problem.definition.name, words(*least)),
        .diagnostics = {},
        .gate = Gate::precision};
  }
  return std::nullopt;
}

}  // namespace ak::runtime
