// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/differential/agreement.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "emulator/numbers/small_floats.h"
#include "tests/emulator/differential/emulated_answers.h"

namespace ak::emulator::differential {
namespace {

using Bytes = std::vector<std::byte>;

std::uint64_t element(const Bytes& from, std::size_t index, int width) {
  std::uint64_t value = 0;
  std::memcpy(&value, from.data() + index * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
  return value;
}

/// Value of a floating-point number; nothing else is compared other than by its bits.
double value_of_bits(std::uint64_t bits, Number number) {
  const auto low = static_cast<std::uint32_t>(bits);
  switch (number) {
    case Number::f16:
    case Number::f16x2:
      return static_cast<double>(f16_to_float(low & 0xFFFFu));
    case Number::bf16:
    case Number::bf16x2:
      return static_cast<double>(bf16_to_float(low & 0xFFFFu));
    case Number::f32:
      return static_cast<double>(std::bit_cast<float>(low));
    case Number::f64:
      return std::bit_cast<double>(bits);
    default:
      return 0;
  }
}

bool is_float(Number number) { return number >= Number::f16; }
bool is_pair(Number number) { return number == Number::f16x2 || number == Number::bf16x2; }

bool is_hashed(const Case& one, const Bytes& answer) {
  return one.hashed_row != 0 && answer.size() != one.output_bytes();
}

bool agree(const Rule& rule, double gpu, double emulated, double magnitude) {
  if (std::isnan(gpu) || std::isnan(emulated)) return std::isnan(gpu) && std::isnan(emulated);
  if (rule.agreement == Agreement::any_nan) return false;  // their bits differ
  if (std::isinf(gpu) || std::isinf(emulated)) return gpu == emulated;
  return std::fabs(gpu - emulated) <= rule.relative * std::fabs(magnitude) + rule.absolute;
}

bool agree(const Case& one, std::uint64_t gpu, std::uint64_t emulated, std::uint64_t magnitude) {
  if (gpu == emulated) return true;
  if (one.rule.agreement == Agreement::exact || !is_float(one.result)) return false;
  for (const int shift : {0, 16}) {
    if (shift != 0 && !is_pair(one.result)) break;
    const std::uint64_t mask = is_pair(one.result) ? 0xFFFFu : ~0ull;
    const std::uint64_t a = gpu >> shift & mask, b = emulated >> shift & mask;
    const std::uint64_t of = one.rule.agreement == Agreement::sum ? magnitude >> shift & mask : a;
    if (a != b && !agree(one.rule, value_of_bits(a, one.result), value_of_bits(b, one.result),
                         value_of_bits(of, one.result)))
      return false;
  }
  return true;
}

std::string show(std::uint64_t bits, Number number, bool hashed) {
  if (hashed) return fmt::format("hash {:08x}", bits);
  const int digits = 2 * bytes(number);
  if (!is_float(number)) return fmt::format("{:0{}x}", bits, digits);
  if (is_pair(number))
    return fmt::format("{:08x} ({:g}, {:g})", bits, value_of_bits(bits & 0xFFFFu, number),
                       value_of_bits(bits >> 16, number));
  return fmt::format("{:0{}x} ({:g})", bits, digits, value_of_bits(bits, number));
}

/// Words that the thread with this result read, where every thread has one result.
std::string inputs_of(const Case& one, std::size_t index) {
  std::string text;
  const auto count = static_cast<std::size_t>(one.inputs_per_thread);
  for (std::size_t i = 0; i < count; ++i)
    text += fmt::format("{}{:x}", i == 0 ? ", inputs " : " ", one.inputs[index * count + i]);
  return text;
}

constexpr std::array<std::string_view, kVerdicts> kNames = {"agree",       "differ", "refused by driver",
                                                            "unsupported", "failed", "no answer"};

}  // namespace

std::vector<Difference> differences(const Case& one, const Bytes& gpu, const Bytes& emulated,
                                    const Bytes& magnitudes) {
  std::vector<Difference> found;
  const bool hashed = is_hashed(one, gpu);
  const Bytes& ours = hashed ? kept(one, emulated) : emulated;
  const int width = hashed ? 4 : bytes(one.result);
  AK_ASSERT(gpu.size() == ours.size(), "answers of a case have one size");
  for (std::size_t i = 0; i < gpu.size() / static_cast<std::size_t>(width); ++i) {
    const std::uint64_t a = element(gpu, i, width), b = element(ours, i, width);
    const std::uint64_t magnitude = magnitudes.empty() ? 0 : element(magnitudes, i, width);
    if (!agree(one, a, b, magnitude)) found.push_back({i, a, b});
  }
  return found;
}

CaseReport examine(const Case& one, const Bytes& gpu) {
  CaseReport report;
  report.of = &one;
  report.hashed = is_hashed(one, gpu);
  if (gpu.empty()) {
    report.verdict = Verdict::refused;
    return report;
  }
  const auto emulated = emulate(one, one.inputs);
  if (!emulated) {
    report.verdict = emulated.error().status == Status::unsupported ? Verdict::unsupported : Verdict::failed;
    report.message = emulated.error().message;
    return report;
  }
  const Bytes magnitudes = one.magnitudes.empty() ? Bytes{} : emulate(one, one.magnitudes).value();
  report.differences = differences(one, gpu, *emulated, magnitudes);
  if (!report.differences.empty()) report.verdict = Verdict::differs;
  return report;
}

CaseReport examine(const Case& one, const Answers& answers) {
  const auto found = answers.find(key_of(one));
  if (found != answers.end()) return examine(one, found->second);
  CaseReport report;
  report.of = &one;
  report.verdict = Verdict::missing;
  return report;
}

std::string describe(const CaseReport& report, std::size_t most) {
  const Case& one = *report.of;
  std::string text = fmt::format("{}\n  {}", one.name, kNames[static_cast<std::size_t>(report.verdict)]);
  if (report.verdict != Verdict::differs)
    return text + (report.message.empty() ? "" : ": ") + report.message + "\n";
  text += fmt::format(": {} results\n", report.differences.size());
  for (std::size_t i = 0; i < std::min(most, report.differences.size()); ++i) {
    const Difference& d = report.differences[i];
    text += fmt::format("  [{}] GPU {}, CPU device {}{}\n", d.index, show(d.gpu, one.result, report.hashed),
                        show(d.emulated, one.result, report.hashed), inputs_of(one, d.index));
  }
  return text;
}

void Tally::add(const CaseReport& report) {
  ++count[static_cast<std::size_t>(report.verdict)];
  if (report.verdict == Verdict::agrees || report.verdict == Verdict::differs) results += report.of->results;
}

std::string table(const std::vector<Tally>& tallies) {
  std::string text = fmt::format("{:<12}", "suite");
  for (const auto& name : kNames) text += fmt::format("{:>19}", name);
  text += fmt::format("{:>12}\n", "results");
  for (const Tally& tally : tallies) {
    text += fmt::format("{:<12}", tally.suite);
    for (const std::size_t count : tally.count) text += fmt::format("{:>19}", count);
    text += fmt::format("{:>12}\n", tally.results);
  }
  return text;
}

}  // namespace ak::emulator::differential
