// SPDX-License-Identifier: Apache-2.0
#include "runtime/fleet/device_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

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
// Of a launcher until its worker is lost; more than any says before it gives up (chosen).
constexpr std::size_t kMostErrorLines = 100;
constexpr std::size_t kMostOfLine = 4096;  // that has no end yet (chosen)
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
  return options.device == DeviceKind::emulator ? emulated_device_facts(options.target, options.emulated_sms)
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

}  // namespace

std::vector<DevicePlace> numbered(std::vector<DevicePlace> places) {
  std::map<std::string, int> same, number;
  for (const DevicePlace& place : places) ++same[place.name];
  for (DevicePlace& place : places)
    if (same[place.name] > 1) place.name = fmt::format("{} ({})", place.name, ++number[place.name]);
  return places;
}

DevicePool::DevicePool(const EvaluatorOptions& options)
    : options_(options),
      pooled_(!options.pool.empty()),
      facts_(std::make_shared<const DeviceFacts>(facts_without_gpu(options))),
      calibrations_(options.calibration_interval),
      checked_(steady_clock::now()),
      present_(checked_) {
  for (const DevicePlace& place : pooled_ ? numbered(options.pool) : own_devices(options)) {
    DeviceLine& line = lines_.emplace_back(place, device_command(options, place), options.watched);
    if (!pooled_) line.device = facts_;
  }
  if (options.device == DeviceKind::cuda) open_first();
  // Costs are exact and the same everywhere, so that a worker of this program here knows what others have to say.
  if (pooled_ && options.device == DeviceKind::emulator)
    calibrations_.expect_cost(
        DeviceClient(device_command(options, {})).calibrate({DeviceKind::emulator, options.target, 0}));
}

// Its model is the pool's.
void DevicePool::open_first() {
  for (DeviceLine& line : lines_) {
    try {
      first_ = &line;
      return open(line);
    } catch (const Error& error) {
      show_errors(line, true);
      if (error.code() != ExitCode::environment || &line == &lines_.back()) throw;
      note_loss(line, error.what());
    }
  }
}

void DevicePool::open(DeviceLine& line) {
  const std::vector<DeviceFacts> devices = line.client.describe();
  const DeviceFacts* found = find_ordinal(devices, line.place.ordinal);
  if (found == nullptr)
    fail(ExitCode::usage, "there is no CUDA device {}: the driver reports {}", line.place.ordinal,
         devices.size());
  facts_ = std::make_shared<const DeviceFacts>(*found);
  if (!pooled_) return settle(line, facts_);
  line.found = facts_;
  judge(line, line.client.calibrate(calibration_of(line)));
}

/// Another machine may write what it likes, without an end: so it neither fills a log nor reaches a terminal as it is.
void DevicePool::show_errors(DeviceLine& line, bool has_ended) {
  if (!line.errors) return;
  std::string text = std::exchange(line.half_line, {}) + line.errors->take();
  if (has_ended && !text.empty() && !text.ends_with('\n')) text += '\n';
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string said = text.substr(begin, end - begin);
    if (line.place.connects) {
      show_once(said);
      continue;
    }
    if (line.shown_lines == kMostErrorLines) continue;
    print_stderr("{}: {}\n", line.place.name, said);
    if (++line.shown_lines == kMostErrorLines)
      print_stderr("note: what else {} says is not shown\n", line.place.name);
  }
  line.half_line = text.substr(begin, kMostOfLine);
}

/// Which of the places at one address had the connection says nothing.
void DevicePool::show_once(const std::string& note) {
  if (said_.size() < kMostErrorLines && said_.insert(note).second) print_stderr("{}\n", note);
}

bool DevicePool::usable(const DeviceLine& line) const {
  return line.client.busy() || (line.device != nullptr && line.breaker.lets_pass(steady_clock::now()));
}

int DevicePool::present() const {
  return static_cast<int>(
      std::ranges::count_if(lines_, [&](const DeviceLine& line) { return usable(line); }));
}

std::shared_ptr<const DeviceFacts> DevicePool::other_device(const DeviceLine& line) const {
  if (!line.device || options_.device != DeviceKind::cuda) return nullptr;
  const bool same =
      name_of_device(line.place.name, *line.device) == name_of_device(first_->place.name, *facts_);
  return same ? nullptr : line.device;
}

bool DevicePool::ready(DeviceLine& line) {
  if (!pooled_) return true;
  if (const auto reason = line.client.drop_if_lost()) note_loss(line, *reason);
  // A worker elsewhere may come back on another GPU.
  if (!line.client.has_process()) line.device.reset();
  // Its own place may have joined later.
  if (const auto wrong = line.device ? same_gpu(line, *line.device) : std::nullopt) {
    turn_away(line, *wrong);
    line.device.reset();
  }
  const bool passes = line.breaker.lets_pass(steady_clock::now());
  // By a new process: one that has run a candidate may say what that likes.
  if (passes && calibration_is_due(line)) {
    line.client.abandon();
    line.device.reset();
  }
  if (line.device) return passes;
  if (passes && !line.client.joining() && !line.client.calibrating())
    line.client.join(options_.device == DeviceKind::cuda);
  return false;
}

bool DevicePool::decides(const DeviceLine& line) const {
  if (!pooled_ || options_.device == DeviceKind::emulator) return true;  // costs are the same everywhere
  const auto first = std::ranges::find_if(lines_, [&](const DeviceLine& one) { return awaited(one); });
  return first != lines_.end() && &*first == &line;
}

bool DevicePool::awaited(const DeviceLine& line) const {
  const auto now = steady_clock::now();
  return !pooled_ || usable(line) || (line.breaker.lets_pass(now) && now - line.seen < kAbsence);
}

bool DevicePool::has_other(const DeviceLine& line) const {
  return std::ranges::any_of(lines_, [&](const DeviceLine& one) { return &one != &line && usable(one); });
}

bool DevicePool::calibration_is_due(const DeviceLine& line) const {
  return pooled_ && line.device && calibrations_.is_due(line.place.name, *line.device, steady_clock::now());
}

void DevicePool::note_fault(DeviceLine& line, const std::string& fault) {
  if (!pooled_) return;
  if (line.device) calibrations_.distrust(line.place.name, *line.device);
  line.breaker.distrust();
  note_loss(line, "its GPU failed: " + fault);
}

void DevicePool::note_loss(DeviceLine& line, const std::string& reason) {
  if (!pooled_) return;
  show_errors(line, true);
  line.shown_lines = 0;
  line.trouble = reason;
  if (!line.place.own()) line.known.reset();
  last_reason_ = fmt::format("{}: {}", line.place.name, reason);
  const auto now = steady_clock::now();
  if (!line.breaker.note_loss(now)) return;
  print_stderr("note: {} rests for {} s: {}\n", line.place.name,
               std::chrono::ceil<std::chrono::seconds>(line.breaker.rests_until() - now).count(), reason);
}

void DevicePool::poll() {
  if (!pooled_) return;
  for (DeviceLine& line : lines_) {
    show_errors(line);
    if (line.client.joining()) take_joined(line);
    if (line.client.calibrating()) take_calibrated(line);
  }
  check_presence();
}

void DevicePool::take_joined(DeviceLine& line) {
  try {
    if (const auto devices = line.client.poll_joined(steady_clock::now())) admit(line, *devices);
  } catch (const Error& error) {
    note_loss(line, error.what());
  }
}

void DevicePool::admit(DeviceLine& line, const std::vector<DeviceFacts>& devices) {
  if (options_.device == DeviceKind::emulator) return begin_lease(line, facts_);
  const DeviceFacts* found = find_ordinal(devices, line.place.ordinal);
  if (const auto wrong = objection(line, found)) return turn_away(line, *wrong);
  begin_lease(line, std::make_shared<const DeviceFacts>(*found));
}

// The worker at a place of CPU devices may be another one each time, and is asked each time.
void DevicePool::begin_lease(DeviceLine& line, std::shared_ptr<const DeviceFacts> device) {
  const bool is_known = options_.device == DeviceKind::cuda;
  if (is_known && !calibrations_.is_due(line.place.name, *device, steady_clock::now()))
    return settle(line, std::move(device));
  line.found = std::move(device);
  line.client.ask_calibration(calibration_of(line));
}

CalibrationTask DevicePool::calibration_of(const DeviceLine& line) const {
  const bool gpu = options_.device == DeviceKind::cuda;
  return {.device = options_.device, .arch = options_.target, .ordinal = gpu ? line.place.ordinal : 0};
}

void DevicePool::take_calibrated(DeviceLine& line) {
  try {
    if (const auto read = line.client.poll_calibration(steady_clock::now())) judge(line, *read);
  } catch (const Error& error) {
    line.found.reset();
    note_loss(line, error.what());
  }
}

void DevicePool::judge(DeviceLine& line, const Calibration& read) {
  const auto now = steady_clock::now();
  CalibrationRecord record =
      calibrations_.judge(line.place.name, std::exchange(line.found, nullptr), read, now);
  line.sm_clock_mhz = read.sm_clock_mhz;
  if (record.objection.empty())
    settle(line, record.device);
  else
    turn_away(line, {record.objection, false});
  calibrated_.push_back(std::move(record));
}

void DevicePool::settle(DeviceLine& line, std::shared_ptr<const DeviceFacts> device) {
  line.device = line.known = std::move(device);
  line.seen = steady_clock::now();
  line.objection.clear();
}

std::optional<DevicePool::Objection> DevicePool::objection(const DeviceLine& line,
                                                           const DeviceFacts* found) const {
  const bool lasts = !line.place.connects;
  if (found == nullptr)
    return Objection{fmt::format("the driver reports no CUDA device {}", line.place.ordinal), lasts};
  if (!same_model(*found, *facts_))
    return Objection{
        fmt::format("it is a {}, and this run compares times of a {}", found->name, facts_->name), lasts};
  return same_gpu(line, *found);
}

/// Of the places that one GPU seems to be at it belongs to the first; but to this machine's own rather than to a worker
/// elsewhere, which may say that it is any.
std::optional<DevicePool::Objection> DevicePool::same_gpu(const DeviceLine& line,
                                                          const DeviceFacts& device) const {
  for (const DeviceLine& other : lines_) {
    if (&other == &line || device.uuid.empty() || (line.place.own() && !other.place.own())) continue;
    // It may have left the other line, which has not noticed yet.
    for (const auto& has : {other.device, other.found, other.known})
      if (has && has->uuid == device.uuid)
        return Objection{fmt::format("it is the same GPU as {}", other.place.name), false};
  }
  return std::nullopt;
}

void DevicePool::turn_away(DeviceLine& line, const Objection& objection) {
  line.client.abandon();
  line.trouble = objection.why;
  if (!line.place.own()) line.known.reset();
  objection.lasts ? line.breaker.leave() : line.breaker.rest(steady_clock::now());
  last_reason_ = fmt::format("{}: {}", line.place.name, objection.why);
  if (std::exchange(line.objection, objection.why) == objection.why) return;  // it was said
  print_stderr("note: {} is left out: {}\n", line.place.name, objection.why);
}

void DevicePool::check_presence() {
  const auto now = steady_clock::now();
  const auto passed = now - std::exchange(checked_, now);
  bool any = passed > kGap;
  for (DeviceLine& line : lines_) {
    if (now - line.seen < kAbsence) line.present += passed;
    const bool works = line.client.busy() || line.client.calibrating();
    if (!works && (line.device == nullptr || !line.client.has_process())) continue;
    line.seen = now;
    any = true;
  }
  if (any) present_ = now;
  if (now - present_ > kLongestAbsence)
    fail(ExitCode::environment, "no device of the pool has answered for {} min; the last to fail was {}",
         kLongestAbsence.count(), last_reason_);
}

PoolPlace DevicePool::report_of(const DeviceLine& line) const {
  const auto now = steady_clock::now();
  PoolPlace place{.place = line.place.name,
                  .own = line.place.own(),
                  .device = line.device ? line.device : line.found,
                  .doing = "waits",
                  .breaker = line.breaker.state(now),
                  .sm_clock_mhz = line.sm_clock_mhz,
                  .answers = line.answers,
                  .present = line.present};
  const bool rests = line.breaker.has_left() || !line.breaker.lets_pass(now);
  if (!place.device && !rests) place.device = line.known;
  if (line.client.busy())
    place.doing = line.baseline_of != nullptr ? "measures baselines" : "evaluates";
  else if (line.client.calibrating())
    place.doing = "calibrates";
  else if (rests)
    place.doing = line.breaker.has_left() ? "left out" : "rests";
  else if (line.device == nullptr)
    place.doing = "joins";
  if (rests) place.reason = line.trouble;
  return place;
}

std::vector<PoolPlace> DevicePool::places() const {
  std::vector<PoolPlace> places;
  if (!pooled_) return places;
  for (const DeviceLine& line : lines_) places.push_back(report_of(line));
  return places;
}

void DevicePool::add_descriptors(std::vector<pollfd>& descriptors) const {
  for (const DeviceLine& line : lines_)
    if (line.client.busy() || line.client.joining() || line.client.calibrating())
      descriptors.push_back({.fd = line.client.descriptor(), .events = POLLIN, .revents = 0});
}

}  // namespace ak::runtime
