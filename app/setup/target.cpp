// SPDX-License-Identifier: Apache-2.0
#include "app/setup/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "app/setup/pool_file.h"
#include "app/setup/program_paths.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
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

constexpr std::string_view kAllGpus = "cuda:all";

/// The numbers of "cuda:0,2"; empty for anything else.
std::vector<int> listed_gpus(std::string_view flag) {
  constexpr std::string_view kBefore = "cuda:";
  if (!flag.starts_with(kBefore)) return {};
  std::vector<int> ordinals;
  const char* const end = flag.data() + flag.size();
  for (const char* at = flag.data() + kBefore.size();; ++at) {
    int ordinal = -1;
    const auto [rest, status] = std::from_chars(at, end, ordinal);
    if (status != std::errc() || ordinal < 0 || (rest != end && *rest != ',')) return {};
    ordinals.push_back(ordinal);
    if (rest == end) return ordinals;
    at = rest;
  }
}

bool names_several(const std::string& flag) { return flag == kAllGpus || listed_gpus(flag).size() > 1; }

DeviceChoice parse_device(const std::string& flag) {
  if (flag.empty() || flag == "auto") return {.automatic = true, .kind = DeviceKind::cuda};
  if (flag == "none") return {.kind = DeviceKind::none};
  if (flag == "emulator") return {.kind = DeviceKind::emulator};
  if (flag == "cuda") return {.kind = DeviceKind::cuda};
  if (names_several(flag))
    fail(ExitCode::usage, "--device {} names several GPUs, and this runs on one: name it, as cuda:0", flag);
  if (const auto named = listed_gpus(flag); !named.empty())
    return {.kind = DeviceKind::cuda, .ordinal = named.front()};
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

namespace {

Target choose(const DeviceChoice& choice, const std::string& arch_flag,
              const std::vector<std::string>& worker) {
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
  const std::vector<DeviceFacts> devices = runtime::probe_devices(worker, why);
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

/// The devices that a flag names several of.
PoolDevices named_pool(const std::string& flag) {
  PoolDevices pool{.kind = DeviceKind::cuda, .places = {}};
  if (flag == kAllGpus) pool.places = local_gpus();
  std::vector<int> ordinals = listed_gpus(flag);
  for (const int ordinal : ordinals) pool.places.push_back(local_gpu(ordinal));
  std::ranges::sort(ordinals);
  if (std::ranges::adjacent_find(ordinals) != ordinals.end())
    fail(ExitCode::usage, "--device {} names a GPU twice", flag);
  return pool;
}

/// Waits until the first device has joined.
Target target_of(PoolDevices pool, const std::string& arch_flag) {
  const runtime::DevicePlace& first = pool.places.front();
  if (pool.kind == DeviceKind::cuda && !first.worker_command.empty())
    print_stderr("note: waiting for the first device of the pool, {}\n", first.name);
  Target target = choose({.kind = pool.kind, .ordinal = first.ordinal}, arch_flag,
                         first.worker_command.empty() ? worker_command() : first.worker_command);
  if (target.executes()) target.pool = std::move(pool.places);
  target.confirm_devices = pool.confirm;
  target.cpu_fallback = pool.cpu_fallback;
  return target;
}

/// That of the first device that joins. Those before it come last, as they may be back later. Throws what was said of the
/// first where none does.
Target target_of_any(PoolDevices pool, const std::string& arch_flag) {
  std::optional<Error> of_first;
  for (std::size_t left = pool.places.size(); left > 0; --left) {
    try {
      return target_of(pool, arch_flag);
    } catch (const Error& error) {
      if (error.code() != ExitCode::environment) throw;
      if (left > 1)
        print_stderr("note: {}: {}; the next device of the pool is asked\n", pool.places.front().name,
                     error.what());
      if (!of_first) of_first = error;
      std::ranges::rotate(pool.places, pool.places.begin() + 1);
    }
  }
  throw Error(*of_first);
}

}  // namespace

Target cpu_device_of(const Arch& arch) { return emulated(arch, ""); }

Target choose_target(const std::string& device_flag, const std::string& arch_flag) {
  return choose(parse_device(device_flag), arch_flag, worker_command());
}

Target choose_search_target(const std::string& device_flag, const std::string& pool_file,
                            const std::string& arch_flag) {
  if (pool_file.empty() && !names_several(device_flag)) return choose_target(device_flag, arch_flag);
  if (!pool_file.empty() && !device_flag.empty())
    fail(ExitCode::usage, "--pool {} names the devices: leave --device {} out", pool_file, device_flag);
  std::vector<PoolFault> faults;
  PoolDevices pool = pool_file.empty() ? named_pool(device_flag) : read_pool(pool_file, &faults);
  const bool falls_back = pool.cpu_fallback;
  try {
    if (!faults.empty() && (!falls_back || pool.places.empty()))
      fail(ExitCode::environment, "{}: {}: {}", pool_file, faults.front().entry, faults.front().why);
    for (const PoolFault& fault : faults)
      print_stderr("note: {} of the pool is left out: {}\n", fault.entry, fault.why);
    return falls_back ? target_of_any(std::move(pool), arch_flag) : target_of(std::move(pool), arch_flag);
  } catch (const Error& error) {
    if (error.code() != ExitCode::environment || !falls_back) throw;
    const bool native = arch_flag.empty() || arch_flag == "native";
    Target target = emulated(native ? emulated_by_default() : parse_arch_or_fail(arch_flag),
                             fmt::format("no GPU of the pool is there ({}): ", error.what()));
    target.fell_back = true;
    return target;
  }
}

std::string device_flag_of(const Target& target) {
  if (target.kind != DeviceKind::cuda || !target.here()) return std::string(to_string(target.kind));
  if (target.pool.empty()) return fmt::format("cuda:{}", target.ordinal);
  std::vector<int> ordinals;
  for (const runtime::DevicePlace& place : target.pool) ordinals.push_back(place.ordinal);
  return fmt::format("cuda:{}", fmt::join(ordinals, ","));
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
