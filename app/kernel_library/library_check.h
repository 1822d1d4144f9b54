// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/kernel_library/library_measurement.h"
#include "core/text/json.h"

namespace ak::app {

/// What `alphakernel library check` was asked for.
struct LibraryCheckOrder {
  std::filesystem::path package;                ///< as `library build --output` was given
  std::vector<std::filesystem::path> problems;  ///< folders of problems that are not shipped
  std::vector<std::string> operators;           ///< of the package; empty: all
  std::string device;                           ///< a --device
  MeasurementOrder measurement;
};

/// How a kernel fares on a shape.
enum class ShapeVerdict : std::uint8_t {
  fine,       ///< no change beyond chance and 2 %
  slower,     ///< than its image, its stored cost or its earlier turns
  behind,     ///< PyTorch has passed it
  failed,     ///< it does not assemble, run or compute what it should
  recorded,   ///< there was nothing to compare with: later checks compare with what was timed now
  unchecked,  ///< nothing could be compared
};
[[nodiscard]] std::string_view verdict_name(ShapeVerdict verdict);

struct CheckedShape {
  std::string name;                  ///< of the operator
  std::string shape;                 ///< empty where the operator failed as a whole
  int member = 0;                    ///< of a set, that takes the shape; 0: it is one kernel
  double stored_us = 0, now_us = 0;  ///< 0: not known. Of different days: no comparison, on a GPU
  double pytorch = 0;                ///< PyTorch's time over the kernel's; 0: not timed
  ShapeVerdict verdict = ShapeVerdict::unchecked;
  std::string reason;  ///< in words
  std::vector<ShapeChange> changes;
  [[nodiscard]] bool regressed() const {
    return verdict == ShapeVerdict::slower || verdict == ShapeVerdict::behind ||
           verdict == ShapeVerdict::failed;
  }
};

struct LibraryCheck {
  ReadPackage package;
  std::string device;  ///< of this machine
  int driver = 0;      ///< as cuDriverGetVersion gives it; 0: none
  std::vector<CheckedShape> shapes;
  std::vector<std::string> notes;
  std::size_t comparisons = 0;  ///< that the chance of a false alarm is shared by
  /// Names of operators with a shape that regressed.
  [[nodiscard]] std::vector<std::string> regressed() const;
};

/// This machine's device, with the target whose machine code of the package it loads. Throws Error(environment) where it is
/// not the device that the package was measured on, or there is none.
[[nodiscard]] Target check_target(const ReadPackage& package, const std::string& device_flag);

/// Measures every kernel of a package again, suspects twice. Blocks for minutes.
/// Throws Error as read_package() does, Error(environment) on another device than the package was measured on, Error(usage)
/// for an operator that it does not have.
[[nodiscard]] LibraryCheck check_library(const LibraryCheckOrder& order, const Config& config,
                                         const std::function<void(std::string_view)>& progress,
                                         const std::atomic<bool>* stop);

[[nodiscard]] std::string library_check_text(const LibraryCheck& check);
/// As docs/kernel_library.md#checking-a-library describes it.
[[nodiscard]] Json library_check_json(const LibraryCheck& check);

}  // namespace ak::app
