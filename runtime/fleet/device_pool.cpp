// SPDX-License-Identifier: Apache-2.0
#include "runtime/fleet/device_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/error.h"
#include "core/text/print_stderr.h"
#include "runtime/build/candidate_plan.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

// A worker that starts again is back in a second or two; so long a comparison waits for the first device (chosen).
constexpr std::chrono::seconds kAbsence{10};
// A node that starts again, or a job that is queued again, may come back; a run that can do nothing ends, so that a
// session can wait with its own patience (chosen).
constexpr std::chrono::minutes kLongestAbsence{2};
// A waiting evaluator looks at its devices every second: after a longer gap nobody was waiting.
constexpr std::chrono::seconds kGap{5};

std::vector<std::string> device_command(const EvaluatorOptions& options, const DevicePlace& place) {
  std::vector<std::string> command = options.launcher;
  const auto& worker = place.worker_command.empty() ? options.worker_command : place.worker_command;
  command.insert(command.end(), worker.begin(), worker.end());
  command.insert(command.end(), {"--role", options.watched ? "watched_device" : "device"});
  return command;
}

DeviceFacts facts_without_gpu(const EvaluatorOptions& options) {
  return options.device == DeviceKind::emulator ? emulated_device_facts(options.target)
                                                : nominal_device(options.target);
}

/// The devices of a run without a pool.
std::vector<DevicePlace> own_devices(const EvaluatorOptions& options) {
  if (options.device == DeviceKind::none) return {};
  if (options.device == DeviceKind::cuda)
    return {
        {.name = fmt::format("cuda:{}", options.ordinal), .worker_command = {}, .ordinal = options.ordinal}};
  const int count = std::min(emulator_count(), options.max_emulators);
  return std::vector<DevicePlace>(static_cast<std::size_t>(count),
                                  {.name = "the CPU device", .worker_command = {}});
}

const DeviceFacts* find_ordinal(const std::vector<DeviceFacts>& devices, int ordinal) {
  const auto found = std::ranges::find(devices, ordinal, &DeviceFacts::ordinal);
  return found == devices.end() ? nullptr : &*found;
}

/// What makes times comparable; clocks and power limits differ between GPUs of a model, and are stored.
auto model_of(const DeviceFacts& device) {
  return std::tie(device.kind, device.name, device.arch, device.sm_count, device.l2_bytes,
                  device.memory_bytes);
}

}  // namespace

DevicePool::DevicePool(const EvaluatorOptions& options)
    : options_(options),
      pooled_(!options.pool.empty()),
      facts_(std::make_shared<const DeviceFacts>(facts_without_gpu(options))),
      checked_(steady_clock::now()),
      present_(checked_) {
  for (const DevicePlace& place : pooled_ ? options.pool : own_devices(options)) {
    DeviceLine& line = lines_.emplace_back(place, device_command(options, place), options.watched);
    if (!pooled_) line.device = facts_;
  }
  if (options.device == DeviceKind::cuda) open_first();
}

void DevicePool::open_first() {
  DeviceLine& first = lines_.front();
  const std::vector<DeviceFacts> devices = first.client.describe();
  const DeviceFacts* found = find_ordinal(devices, first.place.ordinal);
  if (found == nullptr)
    fail(ExitCode::usage, "there is no CUDA device {}: the driver reports {}", first.place.ordinal,
         devices.size());
  first.device = facts_ = std::make_shared<const DeviceFacts>(*found);
  first.seen = steady_clock::now();
}

bool DevicePool::usable(const DeviceLine& line) const {
  return line.client.busy() || (line.device != nullptr && line.breaker.lets_pass(steady_clock::now()));
}

int DevicePool::present() const {
  return static_cast<int>(
      std::ranges::count_if(lines_, [&](const DeviceLine& line) { return usable(line); }));
}

std::shared_ptr<const DeviceFacts> DevicePool::other_device(const DeviceLine& line) const {
  return line.device && line.device->uuid != facts_->uuid ? line.device : nullptr;
}

bool DevicePool::ready(DeviceLine& line) {
  if (!pooled_) return true;
  line.client.drop_if_lost();
  // A worker elsewhere may come back on another GPU.
  if (!line.client.has_process()) line.device.reset();
  const bool passes = line.breaker.lets_pass(steady_clock::now());
  if (line.device) return passes;
  if (passes && !line.client.joining()) line.client.join(options_.device == DeviceKind::cuda);
  return false;
}

bool DevicePool::decides(const DeviceLine& line) const {
  if (!pooled_ || options_.device == DeviceKind::emulator) return true;  // costs are the same everywhere
  const auto now = steady_clock::now();
  const auto first = std::ranges::find_if(lines_, [&](const DeviceLine& one) {
    return usable(one) || (one.breaker.lets_pass(now) && now - one.seen < kAbsence);
  });
  return first != lines_.end() && &*first == &line;
}

bool DevicePool::has_other(const DeviceLine& line) const {
  return std::ranges::any_of(lines_, [&](const DeviceLine& one) { return &one != &line && usable(one); });
}

void DevicePool::note_loss(DeviceLine& line, const std::string& reason) {
  if (!pooled_) return;
  last_reason_ = fmt::format("{}: {}", line.place.name, reason);
  const auto now = steady_clock::now();
  if (!line.breaker.note_loss(now)) return;
  print_stderr("note: {} rests for {} s: {}\n", line.place.name,
               std::chrono::ceil<std::chrono::seconds>(line.breaker.rests_until() - now).count(), reason);
}

void DevicePool::poll() {
  if (!pooled_) return;
  for (DeviceLine& line : lines_)
    if (line.client.joining()) take_joined(line);
  check_presence();
}

void DevicePool::take_joined(DeviceLine& line) {
  try {
    if (const auto devices = line.client.poll_joined()) admit(line, *devices);
  } catch (const Error& error) {
    note_loss(line, error.what());
  }
}

void DevicePool::admit(DeviceLine& line, const std::vector<DeviceFacts>& devices) {
  line.seen = steady_clock::now();
  if (options_.device == DeviceKind::emulator) {
    line.device = facts_;
    return;
  }
  const DeviceFacts* found = find_ordinal(devices, line.place.ordinal);
  const std::string why = objection(line, found);
  if (why.empty()) {
    line.device = std::make_shared<const DeviceFacts>(*found);
    return;
  }
  line.breaker.leave();
  line.client.abandon();
  last_reason_ = fmt::format("{}: {}", line.place.name, why);
  print_stderr("note: {} is left out: {}\n", line.place.name, why);
}

/// Why a device cannot be of this pool; empty: it can.
std::string DevicePool::objection(const DeviceLine& line, const DeviceFacts* found) const {
  if (found == nullptr) return fmt::format("the driver reports no CUDA device {}", line.place.ordinal);
  if (model_of(*found) != model_of(*facts_))
    return fmt::format("it is a {}, and this run compares times of a {}", found->name, facts_->name);
  for (const DeviceLine& other : lines_)
    if (&other != &line && other.device && !found->uuid.empty() && other.device->uuid == found->uuid)
      return fmt::format("it is the same GPU as {}", other.place.name);
  return "";
}

void DevicePool::check_presence() {
  const auto now = steady_clock::now();
  bool any = now - std::exchange(checked_, now) > kGap;
  for (DeviceLine& line : lines_) {
    if (!line.client.busy() && (line.device == nullptr || !line.client.has_process())) continue;
    line.seen = now;
    any = true;
  }
  if (any) present_ = now;
  if (now - present_ > kLongestAbsence)
    fail(ExitCode::environment, "no device of the pool has answered for {} min; the last to fail was {}",
         kLongestAbsence.count(), last_reason_);
}

void DevicePool::add_descriptors(std::vector<pollfd>& descriptors) const {
  for (const DeviceLine& line : lines_)
    if (line.client.busy() || line.client.joining())
      descriptors.push_back({.fd = line.client.descriptor(), .events = POLLIN, .revents = 0});
}

}  // namespace ak::runtime
