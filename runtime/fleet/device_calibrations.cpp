// SPDX-License-Identifier: Apache-2.0
#include "runtime/fleet/device_calibrations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ak::runtime {
namespace {

struct PartOfCalibration {
  std::string_view what;
  double Calibration::*time_ns;
};
constexpr PartOfCalibration kParts[] = {{"multiplications", &Calibration::compute_ns},
                                        {"a copy", &Calibration::copy_ns}};

/// How far a part is from what it was, as a share of that.
double drift_of(const PartOfCalibration& part, const Calibration& read, const Calibration& first) {
  return std::abs(read.*part.time_ns / first.*part.time_ns - 1);
}

const PartOfCalibration& most_drifted(const Calibration& read, const Calibration& first) {
  return *std::ranges::max_element(
      kParts, {}, [&](const PartOfCalibration& part) { return drift_of(part, read, first); });
}

std::string memory_objection(const Calibration& read, const Calibration& first) {
  if (!read.memory_errors || !first.memory_errors || *read.memory_errors <= *first.memory_errors) return "";
  return fmt::format("its memory had {} uncorrected errors since the first calibration",
                     *read.memory_errors - *first.memory_errors);
}

}  // namespace

const std::string& name_of_device(const std::string& place, const DeviceFacts& device) {
  return device.kind == DeviceKind::emulator || device.uuid.empty() ? place : device.uuid;
}

bool DeviceCalibrations::is_due(const std::string& place, const DeviceFacts& device, TimePoint now) const {
  const auto found = devices_.find(name_of_device(place, device));
  return found == devices_.end() || !found->second.passed || now - *found->second.passed >= interval_;
}

void DeviceCalibrations::distrust(const std::string& place, const DeviceFacts& device) {
  const auto found = devices_.find(name_of_device(place, device));
  if (found != devices_.end()) found->second.passed.reset();
}

CalibrationRecord DeviceCalibrations::judge(std::string place, std::shared_ptr<const DeviceFacts> device,
                                            const Calibration& read, TimePoint now) {
  const bool exact = device->kind == DeviceKind::emulator;
  Device& known = devices_.try_emplace(name_of_device(place, *device), Device{.first = exact_.value_or(read)})
                      .first->second;
  const PartOfCalibration& part = most_drifted(read, known.first);
  CalibrationRecord record{.place = std::move(place),
                           .device = std::move(device),
                           .calibration = read,
                           .drift = drift_of(part, read, known.first),
                           .objection = memory_objection(read, known.first)};
  if (record.drift > (exact ? 0 : kMostDrift))
    record.objection = fmt::format(
        "its calibration has drifted by {:.2f} %: {} took {:.1f} us, where {:.1f} us are expected",
        100 * record.drift, part.what, read.*part.time_ns / 1e3, known.first.*part.time_ns / 1e3);
  known.passed.reset();
  if (record.objection.empty()) known.passed = now;
  return record;
}

}  // namespace ak::runtime
