// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/device_answers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "core/message/message_fields.h"

namespace ak::runtime {
namespace {

constexpr std::size_t kMaxReason = 4'096;            // a few sentences
constexpr std::size_t kMaxDevices = 1'024;           // of one machine
constexpr std::int64_t kMaxProgressMs = 86'400'000;  // a day; the task's deadline comes first

void take_doing(const JsonReader& at, DeviceProgress& progress) {
  constexpr std::array<std::string_view, 4> kActivities{"candidate", "reference", "harness", "waiting"};
  progress.doing = at.text();
  if (std::ranges::find(kActivities, progress.doing) == kActivities.end())
    at.fail("candidate, reference, harness or waiting");
}

constexpr Field<DeviceProgress> kProgressFields[] = {
    {"doing", take_doing},
    {"what", take::words<&DeviceProgress::what, kMaxReason>},
    {"limit_ms", take::number<&DeviceProgress::limit_ms, 0, kMaxProgressMs>}};

constexpr std::int64_t kMaxCalibrationNs = 1'000'000'000;  // ten thousand times what any GPU takes
constexpr std::int64_t kMaxClockMhz = 100'000;

void take_memory_errors(const JsonReader& at, Calibration& calibration) {
  if (at.json().is_null()) return;
  const std::int64_t count = at.integer();
  if (count < 0) at.fail("an integer that is not negative, or null");
  calibration.memory_errors = count;
}

constexpr Field<Calibration> kCalibrationFields[] = {
    {"compute_ns", take::number<&Calibration::compute_ns, 1, kMaxCalibrationNs>},
    {"copy_ns", take::number<&Calibration::copy_ns, 1, kMaxCalibrationNs>},
    {"memory_errors", take_memory_errors},
    {"sm_clock_mhz", take::integer<&Calibration::sm_clock_mhz, 0, kMaxClockMhz>}};

/// How a task may end in a worker; the other ends are the parent's to give.
constexpr std::array kDeviceEnds{Status::ok,
                                 Status::invalid_candidate,
                                 Status::resource_exceeded,
                                 Status::launch_error,
                                 Status::memory_error,
                                 Status::race,
                                 Status::hang,
                                 Status::out_of_memory,
                                 Status::unsupported,
                                 Status::incorrect,
                                 Status::nondeterministic,
                                 Status::integrity_violation,
                                 Status::invalid_reference,
                                 Status::infrastructure_error};

template <class... Args>
[[noreturn]] void reject(fmt::format_string<Args...> format, Args&&... args) {
  throw JsonInputError(fmt::format(format, std::forward<Args>(args)...));
}

std::string quoted(const std::string& name) { return "'" + sanitize(name, 100) + "'"; }

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

DeviceFacts one_device(const JsonReader& at) {
  try {
    DeviceFacts facts = device_facts_from_json(at.json());
    const bool plausible = facts.ordinal >= 0 && facts.sm_count > 0 && facts.max_threads_per_sm > 0 &&
                           facts.l2_bytes >= 0 && facts.memory_bytes > 0 && facts.clock_mhz >= 0 &&
                           facts.memory_clock_mhz >= 0 && facts.memory_bus_bits >= 0 &&
                           facts.shared_bytes_per_block > 0 && facts.driver_version >= 0;
    if (!plausible) at.reject("no device has such facts");
    facts.name = sanitize(facts.name, kMaxReason);
    facts.uuid = sanitize(facts.uuid, kMaxReason);
    return facts;
  } catch (const Error& error) {
    at.reject(error.what());
  }
}

}  // namespace

Result<DeviceProgress> read_progress(const Json& body) {
  try {
    return read_fields(JsonReader(body), kProgressFields);
  } catch (const JsonInputError& error) {
    return InputError{fmt::format("progress: {}", error.what())};
  }
}

Result<std::vector<DeviceFacts>> read_devices(const Json& body) {
  try {
    const JsonReader list = JsonReader(body).member("devices");
    std::vector<DeviceFacts> devices;
    for (const JsonReader& item : list.items()) devices.push_back(one_device(item));
    if (devices.size() > kMaxDevices) list.reject("more devices than a machine has");
    return devices;
  } catch (const JsonInputError& error) {
    return InputError{error.what()};
  }
}

Result<Calibration> read_calibration(const Json& body) {
  try {
    return read_fields(JsonReader(body), kCalibrationFields);
  } catch (const JsonInputError& error) {
    return InputError{fmt::format("calibrated: {}", error.what())};
  }
}

std::string reason_in(const Json& body) {
  const auto message = body.find("message");
  if (message == body.end() || !message->is_string()) return "it gave no reason";
  return sanitize(message->get_ref<const std::string&>(), kMaxReason);
}

AskedOfDevice::Kind AskedOfDevice::kind_of(const DeviceTask& task) {
  if (!task.dump_dir.empty() || !task.mutation.empty()) return Kind::apart;
  if (task.profile) return Kind::profile;
  if (!task.library.empty()) return Kind::library;
  if (!task.rival.image.empty()) return Kind::comparison;
  return task.image.image.empty() && !task.twin ? Kind::baselines : Kind::evaluation;
}

AskedOfDevice::AskedOfDevice(const DeviceTask& task, const OpenProblem& problem) : kind_(kind_of(task)) {
  for (const WorkloadTask& one : task.workloads)
    workloads_[one.workload] = {.distributions = one.distributions, .timed = one.time, .energy = one.energy};
  for (const TensorLayout& tensor : problem.tensors)
    if (tensor.output) outputs_.push_back(tensor.name);
}

Result<DeviceAnswer> AskedOfDevice::read(const Json& body) const {
  try {
    DeviceAnswer answer = device_answer_from_json(body);
    check_outcome(answer);
    check_records(answer);
    check_measurements(answer);
    check_profiles(answer);
    if (answer.outcome.status == Status::ok) check_complete(answer);
    return answer;
  } catch (const Error& error) {
    return InputError{error.what()};
  } catch (const JsonInputError& error) {
    return InputError{fmt::format("device answer: {}", error.what())};
  }
}

void AskedOfDevice::check_outcome(const DeviceAnswer& answer) const {
  const Outcome& outcome = answer.outcome;
  if (std::ranges::find(kDeviceEnds, outcome.status) == kDeviceEnds.end())
    reject("a task does not end as {}", to_string(outcome.status));
  if (outcome.stage < StageId::check) reject("stage {} is not a device's", to_string(outcome.stage));
  if (outcome.status == Status::ok && outcome.gate) reject("it ended as ok at a gate");
  if (!answer.device_fault.empty() && (outcome.status != Status::infrastructure_error || !answer.lost))
    reject("its device failed, and it ended as {}", to_string(outcome.status));
  if (answer.rival_failed && kind_ != Kind::comparison) reject("a rival failed where there is none");
}

void AskedOfDevice::check_records(const DeviceAnswer& answer) const {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  const bool checks = kind_ == Kind::evaluation || kind_ == Kind::apart;
  for (const CheckRecord& record : answer.checks) {
    const auto workload = workloads_.find(record.workload);
    if (!checks || workload == workloads_.end() ||
        !contains(workload->second.distributions, record.distribution))
      reject("a check on workload {} with {} was not asked for", quoted(record.workload),
             quoted(record.distribution));
    // A mutation that changes nothing has no result to compare.
    const bool no_result = kind_ == Kind::apart && record.tensor.empty();
    if (!no_result && !contains(outputs_, record.tensor)) reject("{} is no output", quoted(record.tensor));
    if (kind_ == Kind::evaluation &&
        !seen.emplace(record.workload, record.distribution, record.tensor).second)
      reject("{} on workload {} with {} was checked twice", quoted(record.tensor), quoted(record.workload),
             quoted(record.distribution));
  }
}

bool AskedOfDevice::may_measure(MeasurementRole role) const {
  switch (kind_) {
    case Kind::evaluation:
      return role == MeasurementRole::candidate;
    case Kind::comparison:
      return role != MeasurementRole::baseline;
    case Kind::library:
      return role != MeasurementRole::champion;
    case Kind::baselines:
      return role == MeasurementRole::baseline;
    default:
      return false;
  }
}

const AskedOfDevice::Workload* AskedOfDevice::timed_workload(const std::string& name) const {
  const auto found = workloads_.find(name);
  return found != workloads_.end() && found->second.timed ? &found->second : nullptr;
}

/// The median is of one launch; samples are whole nanoseconds of all their launches together, and have 32 bits.
void AskedOfDevice::check_median(const Measurement& m) {
  const auto [low, high] = std::ranges::minmax_element(m.samples_ns);
  const double launches = m.launches_per_sample;
  const bool saturated = *high == std::numeric_limits<std::uint32_t>::max();
  const double lowest = *low - 1.0, highest = saturated ? HUGE_VAL : *high + 1.0;
  const auto within = [&](double ns) { return ns * launches >= lowest && ns * launches <= highest; };
  if (!(m.median_ns > 0)) reject("workload {} took no time", quoted(m.workload));
  if (!within(m.median_ns) || !within(m.ci_low_ns) || !within(m.ci_high_ns))
    reject("the median of workload {} is not one of its samples", quoted(m.workload));
  if (!(m.ci_low_ns <= m.median_ns && m.median_ns <= m.ci_high_ns))
    reject("the median of workload {} is not in its interval", quoted(m.workload));
}

void AskedOfDevice::check_measurements(const DeviceAnswer& answer) const {
  std::set<std::tuple<std::string_view, MeasurementRole, std::string_view, bool>> seen;
  for (const Measurement& m : answer.measurements) {
    const Workload* workload = timed_workload(m.workload);
    if (workload == nullptr || !may_measure(m.role))
      reject("a time of role {} of workload {} was not asked for", to_string(m.role), quoted(m.workload));
    if (m.energy && !workload->energy) reject("energy of workload {} was not asked for", quoted(m.workload));
    if (m.samples_ns.empty()) reject("workload {} was timed without samples", quoted(m.workload));
    // Baselines have names; of the others there is one of each kind.
    const std::string_view label = m.role == MeasurementRole::baseline ? m.label : std::string_view{};
    if (!seen.emplace(m.workload, m.role, label, m.cold).second)
      reject("workload {} was timed twice", quoted(m.workload));
    check_median(m);
  }
}

void AskedOfDevice::check_profiles(const DeviceAnswer& answer) const {
  for (const Profile& profile : answer.profiles)
    if (kind_ != Kind::profile || timed_workload(profile.workload) == nullptr)
      reject("a profile of workload {} was not asked for", quoted(profile.workload));
}

/// No record is there twice (check_records), so that counting them is enough.
void AskedOfDevice::check_nothing_missing(const DeviceAnswer& answer) const {
  for (const auto& [name, workload] : workloads_) {
    if (!workload.timed && !gate_enabled(Gate::shapes)) continue;
    const std::size_t distributions = gate_enabled(Gate::distributions)
                                          ? workload.distributions.size()
                                          : std::min<std::size_t>(1, workload.distributions.size());
    const auto records = std::ranges::count(answer.checks, name, &CheckRecord::workload);
    if (static_cast<std::size_t>(records) < distributions * outputs_.size())
      reject("workload {} has {} checks, where {} were asked for", quoted(name), records,
             distributions * outputs_.size());
  }
}

/// Of a task that ended well: it has all that a verdict is made of, and nothing that contradicts it.
void AskedOfDevice::check_complete(const DeviceAnswer& answer) const {
  if (kind_ == Kind::apart) return;
  if (!std::ranges::all_of(answer.checks, &CheckRecord::passed)) reject("it ended as ok with a failed check");
  if (kind_ == Kind::evaluation) check_nothing_missing(answer);
  const auto samples = [&](const std::string& workload, MeasurementRole role) -> std::size_t {
    const auto found = std::ranges::find_if(answer.measurements, [&](const Measurement& m) {
      return m.workload == workload && m.role == role && m.cold;
    });
    return found == answer.measurements.end() ? 0 : found->samples_ns.size();
  };
  for (const auto& [name, workload] : workloads_) {
    const bool pairs = kind_ == Kind::comparison || kind_ == Kind::library;
    if (!workload.timed || (kind_ != Kind::evaluation && !pairs)) continue;
    const std::size_t own = samples(name, MeasurementRole::candidate);
    // A library need not do every workload, and its answer then says why.
    if (own == 0 && kind_ != Kind::library) reject("workload {} was not timed", quoted(name));
    const MeasurementRole other =
        kind_ == Kind::library ? MeasurementRole::baseline : MeasurementRole::champion;
    if (pairs && samples(name, other) != own)
      reject("the samples of workload {} are not in pairs", quoted(name));
  }
}

}  // namespace ak::runtime
