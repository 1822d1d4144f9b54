// SPDX-License-Identifier: Apache-2.0
#include "app/setup/target.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "app/setup/program_paths.h"
#include "core/error.h"
#include "core/text/suggest.h"
#include "profiler/analysis/roofline.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/evaluator/local_evaluator.h"

namespace ak::app {
namespace {

struct DeviceChoice {
  bool automatic = false;
  DeviceKind kind = DeviceKind::none;
  int ordinal = 0;
};

DeviceChoice parse_device(const std::string& flag) {
  if (flag.empty() || flag == "auto") return {.automatic = true, .kind = DeviceKind::cuda};
  if (flag == "none") return {.kind = DeviceKind::none};
  if (flag == "emulator") return {.kind = DeviceKind::emulator};
  if (flag == "cuda") return {.kind = DeviceKind::cuda};
  if (flag.rfind("cuda:", 0) == 0) {
    int ordinal = -1;
    const char* end = flag.data() + flag.size();
    const auto [rest, status] = std::from_chars(flag.data() + 5, end, ordinal);
    if (status == std::errc() && rest == end && ordinal >= 0)
      return {.kind = DeviceKind::cuda, .ordinal = ordinal};
  }
  const std::vector<std::string> known{"auto", "cuda", "emulator", "none"};
  fail(ExitCode::usage, "unknown device '{}'{}; expected auto, cuda, cuda:N, emulator or none", flag,
       did_you_mean(flag, known));
}

Arch parse_arch_or_fail(const std::string& flag) {
  const Result<Arch> arch = parse_arch(flag);
  if (!arch) fail(ExitCode::usage, "{}", arch.error().message);
  return *arch;
}

const DeviceFacts* find_device(const std::vector<DeviceFacts>& devices, int ordinal) {
  for (const DeviceFacts& device : devices) {
    if (device.ordinal == ordinal) return &device;
  }
  return nullptr;
}

Target nothing_executed(const Arch& arch, std::string why) {
  Target target;
  target.arch = arch;
  target.notice = fmt::format("{}: kernels are built for {} and ranked by resources; nothing is executed",
                              why, arch.sm());
  return target;
}

Target emulated(const Arch& arch, const std::string& why) {
  return {
      .kind = DeviceKind::emulator,
      .ordinal = 0,
      .arch = arch,
      .device = runtime::emulated_device_facts(arch),
      .notice = fmt::format("{}kernels for {} run and are checked on the CPU emulator; costs are estimates, "
                            "not GPU times",
                            why, arch.sm())};
}

/// A number and the text after it.
std::pair<double, std::string> split_number(const std::string& text) {
  double value = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || !(value > 0) || !std::isfinite(value)) return {0, text};
  return {value, std::string(rest, static_cast<std::size_t>(text.data() + text.size() - rest))};
}

}  // namespace

// The data centre GPU most in use.
Arch emulated_by_default() { return {.major = 9, .minor = 0, .feature = 'a'}; }

Target choose_target(const std::string& device_flag, const std::string& arch_flag) {
  const DeviceChoice choice = parse_device(device_flag);
  const bool native = arch_flag.empty() || arch_flag == "native";
  if (!native)
    static_cast<void>(parse_arch_or_fail(arch_flag));  // a typo is reported before a device is looked for
  if (choice.kind == DeviceKind::none) {
    if (native) fail(ExitCode::usage, "--device none needs --arch, e.g. --arch sm_90a");
    return nothing_executed(parse_arch_or_fail(arch_flag), "--device none");
  }
  const Arch emulated_arch = native ? emulated_by_default() : parse_arch_or_fail(arch_flag);
  if (choice.kind == DeviceKind::emulator) return emulated(emulated_arch, "");
  std::string why;
  const std::vector<DeviceFacts> devices = runtime::probe_devices(worker_command(), why);
  const DeviceFacts* device = find_device(devices, choice.ordinal);
  if (!device) {
    const std::string reason =
        devices.empty() ? why : fmt::format("there is no device {}, only {}", choice.ordinal, devices.size());
    if (!choice.automatic)
      fail(ExitCode::environment, "no GPU to run on: {} (alphakernel doctor says more)", reason);
    return emulated(emulated_arch, "no GPU found (" + reason + "): ");
  }
  const Arch arch = native ? device->arch : parse_arch_or_fail(arch_flag);
  if (!can_load(device->arch, arch)) {
    const std::string reason =
        fmt::format("{} ({}) cannot load code for {}", device->name, device->arch.sm(), arch.sm());
    if (choice.automatic) return emulated(arch, reason + ": ");
    Target target = nothing_executed(arch, reason);
    target.device = *device;
    return target;
  }
  return {.kind = DeviceKind::cuda, .ordinal = choice.ordinal, .arch = arch, .device = *device, .notice = ""};
}

double parse_target_performance(const std::string& text, const ProblemInstance& problem,
                                const std::optional<DeviceFacts>& device) {
  const auto parts = split_number(text);
  const double amount = parts.first;
  const std::string& unit = parts.second;
  if (amount > 0 && unit == "ns") return amount;
  if (amount > 0 && unit == "us") return amount * 1e3;
  if (amount > 0 && unit == "ms") return amount * 1e6;
  if (amount > 0 && (unit == "TFLOPS" || unit == "GFLOPS")) {
    const double flops_per_ns = unit == "TFLOPS" ? amount * 1e3 : amount;
    return profiler::weighted_time_ns(problem, [&](const Work& work) { return work.flops / flops_per_ns; });
  }
  if (amount > 0 && unit == "GB/s") {
    return profiler::weighted_time_ns(problem, [&](const Work& work) { return work.bytes / amount; });
  }
  if (amount > 0 && amount <= 100 && unit == "%sol") {
    const auto floor_ns = device ? profiler::memory_floor_ns(problem, *device) : std::nullopt;
    if (!floor_ns)
      fail(ExitCode::usage, "--target-performance {}: the memory bandwidth of this device is not known",
           text);
    return *floor_ns / (amount / 100);
  }
  fail(ExitCode::usage,
       "--target-performance '{}': expected a time (60us, 1.5ms), a rate (500TFLOPS, 2000GB/s) or a share of "
       "the memory speed of light (90%sol)",
       text);
}

}  // namespace ak::app
