// SPDX-License-Identifier: Apache-2.0
#include "codegen/problem/held_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/problem/problem_reader.h"
#include "core/error.h"
#include "core/plan/random_input.h"

namespace ak::codegen {
namespace {

// Of a range where one shape in a thousand is allowed, e^-10 is the chance that none is found.
constexpr std::uint32_t kMaxDraws = 10'000;
constexpr int kFractionBits = 40;  // beyond any axis whose tensor a device could hold

// The logarithm to base 2 with straight lines between powers of two, in fixed point: unlike that of a math
// library it is the same on every machine.
std::uint64_t octaves(std::uint64_t size) {
  const int whole = 63 - std::countl_zero(size);
  const std::uint64_t rest = size - (std::uint64_t{1} << whole);
  const std::uint64_t fraction =
      whole > kFractionBits ? rest >> (whole - kFractionBits) : rest << (kFractionBits - whole);
  return (static_cast<std::uint64_t>(whole) << kFractionBits) + fraction;
}

std::int64_t size_at(std::uint64_t octave) {
  const int whole = static_cast<int>(octave >> kFractionBits);
  const std::uint64_t fraction = octave & ((std::uint64_t{1} << kFractionBits) - 1);
  const std::uint64_t rest =
      whole > kFractionBits ? fraction << (whole - kFractionBits) : fraction >> (kFractionBits - whole);
  return static_cast<std::int64_t>((std::uint64_t{1} << whole) + rest);
}

std::int64_t draw(const AxisRange& range, std::uint64_t random) {
  const std::uint64_t low = octaves(static_cast<std::uint64_t>(range.low));
  const std::uint64_t end = octaves(static_cast<std::uint64_t>(range.high) + 1);
  return std::clamp(size_at(low + random % (end - low)), range.low, range.high);
}

bool suits(const HeldOutRange& range, DeviceKind device) {
  return device == DeviceKind::emulator ? range.tier == WorkloadTier::emulator
                                        : range.tier != WorkloadTier::deep;
}

}  // namespace

Result<AxisValues> draw_shape(const ProblemInstance& problem, const HeldOutRange& range, std::uint64_t seed,
                              std::uint32_t index) {
  const std::array key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  std::string input_error;
  for (std::uint32_t attempt = 0; attempt < kMaxDraws; ++attempt) {
    AxisValues sizes;
    std::uint32_t axis = 0;
    for (const auto& [name, bounds] : range.axes) {
      const auto words = philox4x32({index, attempt, axis++, 0}, key);
      sizes[name] = draw(bounds, std::uint64_t{words[0]} << 32 | words[1]);
    }
    input_error = size_error(problem, sizes);
    if (input_error.empty()) return sizes;
  }
  return InputError{fmt::format("of {} shapes drawn none is possible: {}", kMaxDraws, input_error)};
}

std::vector<Workload> sample_held_out(const ProblemInstance& problem, DeviceKind device, int count,
                                      std::uint64_t seed) {
  std::vector<const HeldOutRange*> ranges;
  for (const HeldOutRange& range : problem.held_out) {
    if (suits(range, device)) ranges.push_back(&range);
  }
  std::vector<Workload> workloads;
  for (int i = 0; i < count && !ranges.empty(); ++i) {
    const HeldOutRange& range = *ranges[static_cast<std::size_t>(i) % ranges.size()];
    auto sizes = draw_shape(problem, range, seed, static_cast<std::uint32_t>(i));
    if (!sizes)
      fail(ExitCode::bad_input, "{}: held-out range '{}': {}", problem.definition.name, range.name,
           sizes.error().message);
    Workload& workload = workloads.emplace_back();
    workload.name = fmt::format("held_out_{}", i + 1);
    workload.axes = std::move(sizes).value();
    workload.uid = workload_uid(problem, workload.axes);
    workload.roles = {WorkloadRole::check};
    workload.tier = range.tier;
  }
  return workloads;
}

}  // namespace ak::codegen
