// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/kernel_library/package_reading.h"
#include "app/setup/config.h"
#include "app/setup/target.h"
#include "core/baseline_turns.h"
#include "core/build.h"
#include "core/learn/regressions.h"

namespace ak::app {

/// What a time now is compared with.
enum class Against : std::uint8_t {
  image,    ///< the stored machine code, in pairs: the same source compiled now is the other
  cost,     ///< the stored cost, on the CPU device, whose costs hardly vary
  then,     ///< what it was of PyTorch's time, of the same version, when the package was first timed with it
  pytorch,  ///< PyTorch, in turns; the kernel was faster than it before
};
[[nodiscard]] std::string_view against_name(Against against);

/// A comparison on one shape.
struct ShapeChange {
  std::string shape;
  Against against = Against::image;
  std::string label;  ///< of PyTorch: "pytorch eager"
  double ratio = 1;   ///< the time now over the other: above 1 it is slower
  TimeChange change;
  bool suspect = false, named = false;
};

/// What was seen of a kernel of a package.
struct MeasuredKernel {
  std::string failure = {};                    ///< why it fails now; else empty
  std::map<std::string, double> now_us = {};   ///< by shape
  std::map<std::string, double> pytorch = {};  ///< PyTorch's time over the kernel's: the least of all
  std::map<std::string, int> members = {};     ///< of a set, which takes the shape: from 1
  std::vector<ShapeChange> changes = {};
  std::vector<std::string> notes = {};
  bool same_code = false;  ///< compiled now it is what the package has
};

/// How it is measured.
struct MeasurementOrder {
  std::vector<std::string> baselines;  ///< names of kPytorchBaselines
  int rounds = 0;                      ///< with PyTorch; 0: kTurnRounds
  std::filesystem::path database;
  std::string command;  ///< stored with the searches
  bool unaudited = false;
};

/// Checks and times one kernel of a package, in pairs with its stored image and in turns with PyTorch, and stores that.
/// Blocks. Throws Error as the evaluator, the store and the audit do.
/// @param package  its folder
/// @param only     the shapes to time in turns; empty: every timed one
/// @param progress what happens now, in words
[[nodiscard]] MeasuredKernel measure_packaged(const PackagedKernel& kernel,
                                              const std::filesystem::path& package,
                                              const MeasurementOrder& order, const Target& target,
                                              const Config& config, const std::vector<std::string>& only,
                                              const std::function<void(std::string_view)>& progress,
                                              const std::atomic<bool>* stop);

}  // namespace ak::app
