// SPDX-License-Identifier: Apache-2.0
#include "runtime/fleet/pool_probe.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/text/suggest.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/evaluator/device_client.h"
#include "runtime/fleet/device_calibrations.h"
#include "runtime/fleet/device_pool.h"
#include "runtime/process/child_process.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

// Leases need no clocks; times of day in logs and databases are of use only where they agree (chosen).
constexpr double kMostSkewS = 60;
// As of `doctor`'s disks: a night of builds and dumps.
constexpr std::int64_t kLeastFreeBytes = 2'000'000'000;
constexpr std::size_t kShownErrors = 300;

/// The last line that says something.
std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const std::size_t begin = text.rfind('\n');
  return sanitize(begin == std::string::npos ? text : text.substr(begin + 1), kShownErrors);
}

double seconds_ahead(std::int64_t unix_ms) {
  const auto here = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(unix_ms) / 1e3 - std::chrono::duration<double>(here).count();
}

/// One place while it is asked. One thread.
class PlaceProbe {
 public:
  PlaceProbe(const EvaluatorOptions& options, const DevicePlace& place)
      : options_(options), place_(place), client_(command(), false, &errors_) {
    finding_.place = place.name;
    client_.join(on_gpu());
  }

  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] int descriptor() const { return client_.descriptor(); }
  [[nodiscard]] PlaceFinding& finding() { return finding_; }

  void poll() {
    try {
      if (client_.joining()) take_joined();
      if (client_.calibrating()) take_calibrated();
    } catch (const Error& error) {
      refuse(error.what());
    }
  }

  void time_out(std::chrono::milliseconds limit) {
    const std::string seconds = fmt::format("{:g} s", std::chrono::duration<double>(limit).count());
    refuse(place_.connects && !finding_.machine
               ? fmt::format("no worker has connected within {}", seconds)
               : fmt::format("it has not answered within {}: a queue, another program on its GPU, or a "
                             "firewall that drops what is sent",
                             seconds));
  }

 private:
  [[nodiscard]] bool on_gpu() const { return options_.device == DeviceKind::cuda; }

  [[nodiscard]] std::vector<std::string> command() const {
    std::vector<std::string> words =
        place_.worker_command.empty() ? options_.worker_command : place_.worker_command;
    words.insert(words.end(), {"--role", "device"});
    return words;
  }

  void take_joined() {
    const auto devices = client_.poll_joined(steady_clock::now());
    if (!client_.greeting().is_null() && !finding_.machine) take_greeting();
    if (!devices || done_) return;
    if (on_gpu()) {
      const auto found = std::ranges::find(*devices, place_.ordinal, &DeviceFacts::ordinal);
      if (found == devices->end())
        return refuse(
            fmt::format("the driver reports no CUDA device {}, only {}", place_.ordinal, devices->size()));
      finding_.device = *found;
    } else {
      finding_.device = emulated_device_facts(options_.target);
    }
    client_.ask_calibration(
        {.device = options_.device, .arch = options_.target, .ordinal = on_gpu() ? place_.ordinal : 0});
  }

  void take_greeting() {
    const auto machine = read_worker_machine(client_.greeting());
    if (!machine) return refuse("it is a worker of an older version, or none: " + machine.error().message);
    finding_.machine = *machine;
    finding_.clock_skew_s = seconds_ahead(machine->unix_ms);
  }

  void take_calibrated() {
    finding_.calibration = client_.poll_calibration(steady_clock::now());
    done_ = finding_.calibration.has_value();
  }

  void refuse(const std::string& why) {
    done_ = true;
    client_.abandon();
    finding_.fault = why;
    if (const std::string said = last_line(errors_.text()); !said.empty())
      finding_.fault += "; it said: " + said;
  }

  const EvaluatorOptions& options_;
  const DevicePlace place_;
  ChildErrors errors_;
  DeviceClient client_;
  PlaceFinding finding_;
  bool done_ = false;
};

void ask_all(std::deque<PlaceProbe>& probes, steady_clock::time_point deadline) {
  const auto all_done = [&] { return std::ranges::all_of(probes, &PlaceProbe::done); };
  while (!all_done() && steady_clock::now() < deadline) {
    std::vector<pollfd> descriptors;
    for (const PlaceProbe& probe : probes)
      if (!probe.done()) descriptors.push_back({.fd = probe.descriptor(), .events = POLLIN, .revents = 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    static_cast<void>(::poll(descriptors.data(), descriptors.size(), static_cast<int>(left.count())));
    for (PlaceProbe& probe : probes)
      if (!probe.done()) probe.poll();
  }
}

std::string cuda_version(const DeviceFacts& device) {
  return fmt::format("{}.{}", device.driver_version / 1000, device.driver_version % 1000 / 10);
}

/// What a search would object to, or what is strange.
void compare(PlaceFinding& finding, const PlaceFinding& first, const std::string& version) {
  if (finding.machine->version != version)
    finding.fault = fmt::format("it is AlphaKernel {}, and this one {}", finding.machine->version, version);
  else if (!same_model(*finding.device, *first.device))
    finding.fault =
        fmt::format("it is a {}, and the first one a {}", finding.device->name, first.device->name);
  if (finding.device->driver_version != first.device->driver_version)
    finding.notes.push_back(fmt::format("its driver is of CUDA {}, the first one's of {}",
                                        cuda_version(*finding.device), cuda_version(*first.device)));
  if (std::abs(finding.clock_skew_s) > kMostSkewS)
    finding.notes.push_back(fmt::format("its clock is {:.0f} s {} this one's", std::abs(finding.clock_skew_s),
                                        finding.clock_skew_s > 0 ? "ahead of" : "behind"));
  if (finding.machine->free_bytes.value_or(kLeastFreeBytes) < kLeastFreeBytes)
    finding.notes.push_back(fmt::format("only {:.1f} GB are free for its temporary files",
                                        static_cast<double>(*finding.machine->free_bytes) / 1e9));
}

/// As a search does, which takes a GPU once: at the first place, but at this machine's own before others.
void refuse_same_gpus(std::vector<PlaceFinding>& findings, const std::vector<DevicePlace>& places) {
  std::map<std::string, std::size_t> owners;  // index of places, by UUID
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!findings[i].fault.empty() || findings[i].device->uuid.empty()) continue;
    const auto [owner, is_new] = owners.try_emplace(findings[i].device->uuid, i);
    if (is_new) continue;
    std::size_t refused = i;
    if (places[i].own() && !places[owner->second].own()) std::swap(refused, owner->second);
    findings[refused].fault = fmt::format("it is the same GPU as {}", findings[owner->second].place);
  }
}

/// Against this machine's own CPU device, whose costs all others have to read.
void compare_costs(std::vector<PlaceFinding>& findings, const EvaluatorOptions& options) {
  DeviceCalibrations calibrations;
  std::vector<std::string> command = options.worker_command;
  command.insert(command.end(), {"--role", "device"});
  calibrations.expect_cost(DeviceClient(command).calibrate({DeviceKind::emulator, options.target, 0}));
  for (PlaceFinding& finding : findings) {
    if (!finding.fault.empty()) continue;
    finding.fault = calibrations
                        .judge(finding.place, std::make_shared<const DeviceFacts>(*finding.device),
                               *finding.calibration, steady_clock::now())
                        .objection;
  }
}

}  // namespace

std::vector<PlaceFinding> probe_pool(const EvaluatorOptions& options, const std::string& version,
                                     std::chrono::milliseconds limit) {
  const auto deadline = steady_clock::now() + limit;
  const std::vector<DevicePlace> places = numbered(options.pool);
  std::deque<PlaceProbe> probes;
  for (const DevicePlace& place : places) probes.emplace_back(options, place);
  ask_all(probes, deadline);
  std::vector<PlaceFinding> findings;
  for (PlaceProbe& probe : probes) {
    if (!probe.done()) probe.time_out(limit);
    findings.push_back(std::move(probe.finding()));
  }
  const auto first =
      std::ranges::find_if(findings, [](const PlaceFinding& one) { return one.fault.empty(); });
  if (first == findings.end()) return findings;
  const PlaceFinding reference = *first;
  for (PlaceFinding& finding : findings)
    if (finding.fault.empty()) compare(finding, reference, version);
  refuse_same_gpus(findings, places);
  if (options.device == DeviceKind::emulator) compare_costs(findings, options);
  return findings;
}

}  // namespace ak::runtime
