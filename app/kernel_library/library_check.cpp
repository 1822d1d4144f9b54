// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/library_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"

namespace ak::app {
namespace {

constexpr std::array<std::string_view, 6> kVerdicts{"fine",   "slower",   "behind",
                                                    "failed", "recorded", "unchecked"};

void choose_operators(ReadPackage& package, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return;
  std::vector<std::string> names;
  for (const PackagedKernel& kernel : package.kernels) names.push_back(kernel.name);
  for (const std::string& name : wanted)
    if (std::ranges::find(names, name) == names.end())
      fail(ExitCode::usage, "{} has no operator {}; it has {}", package.name, name, fmt::join(names, ", "));
  std::erase_if(package.kernels, [&](const PackagedKernel& kernel) {
    return std::ranges::find(wanted, kernel.name) == wanted.end();
  });
}

/// The targets of all operators.
std::vector<std::string> targets_of_package(const ReadPackage& package) {
  std::vector<std::string> names;
  for (const PackagedKernel& kernel : package.kernels)
    for (const Json& image : kernel.description.at("images"))
      if (std::ranges::find(names, image.get<std::string>()) == names.end()) names.push_back(image);
  return names;
}

class LibraryChecker {
 public:
  LibraryChecker(const LibraryCheckOrder& order, const Config& config,
                 const std::function<void(std::string_view)>& progress, const std::atomic<bool>* stop)
      : order_(order), config_(config), progress_(progress), stop_(stop) {
    check_.package = read_package(order.package, order.problems, order.measurement.database);
    check_.notes = check_.package.notes;
    choose_operators(check_.package, order.operators);
    target_ = check_target(check_.package, order.device);
    check_.device = target_.device->name;
    check_.driver = target_.device->driver_version;
  }

  LibraryCheck run() {
    for (const PackagedKernel& kernel : check_.package.kernels) measured_.push_back(measured(kernel, {}));
    find_suspects();
    for (std::size_t i = 0; i < measured_.size(); ++i) repeat_suspects(i);
    for (std::size_t i = 0; i < measured_.size(); ++i) report(check_.package.kernels[i], measured_[i]);
    return std::move(check_);
  }

 private:
  MeasuredKernel measured(const PackagedKernel& kernel, const std::vector<std::string>& only) {
    if (stop_ != nullptr && *stop_)
      fail(ExitCode::interrupted, "stopped: what was measured is in the database");
    if (!kernel.fault.empty()) return {.failure = kernel.fault};
    MeasuredKernel found = measure_packaged(kernel, order_.package, order_.measurement, target_, config_,
                                            only, progress_, stop_);
    for (const std::string& note : found.notes)
      if (std::ranges::find(check_.notes, note) == check_.notes.end()) check_.notes.push_back(note);
    return found;
  }

  void find_suspects() {
    std::vector<ShapeChange*> all;
    std::vector<TimeChange> changes;
    for (MeasuredKernel& kernel : measured_)
      for (ShapeChange& change : kernel.changes) {
        all.push_back(&change);
        changes.push_back(change.change);
      }
    check_.comparisons = all.size();
    const std::vector<bool> found = suspects(changes);
    for (std::size_t i = 0; i < all.size(); ++i) all[i]->suspect = found[i];
  }

  /// Of what fails, too: a device that was lost is no fault of the kernel.
  void repeat_suspects(std::size_t index) {
    MeasuredKernel& first = measured_[index];
    const PackagedKernel& kernel = check_.package.kernels[index];
    if (!kernel.fault.empty()) return;
    std::vector<std::string> shapes;
    for (const ShapeChange& change : first.changes)
      if (change.suspect && std::ranges::find(shapes, change.shape) == shapes.end())
        shapes.push_back(change.shape);
    if (shapes.empty() && first.failure.empty()) return;
    progress_(fmt::format("{}: again, with fresh samples", kernel.name));
    const MeasuredKernel again = measured(kernel, shapes);
    if (!first.failure.empty() || !again.failure.empty()) {
      if (again.failure.empty())
        check_.notes.push_back(fmt::format("{} failed once and passed then: {}", kernel.name, first.failure));
      first = again;
      return;
    }
    for (ShapeChange& change : first.changes)
      if (change.suspect) confirm(change, again);
  }

  static void confirm(ShapeChange& change, const MeasuredKernel& again) {
    const auto same = std::ranges::find_if(again.changes, [&](const ShapeChange& one) {
      return one.shape == change.shape && one.against == change.against && one.label == change.label;
    });
    change.named = same != again.changes.end() && confirms(same->change);
    if (change.named) change.ratio = same->ratio;  // the first was chosen for being large
  }

  void report(const PackagedKernel& kernel, const MeasuredKernel& found) {
    if (!found.failure.empty()) {
      check_.shapes.push_back({.name = kernel.name,
                               .shape = {},
                               .verdict = ShapeVerdict::failed,
                               .reason = found.failure,
                               .changes = {}});
      return;
    }
    for (const auto& [shape, now] : found.now_us)
      check_.shapes.push_back(reported(kernel, found, shape, now));
  }

  static CheckedShape reported(const PackagedKernel& kernel, const MeasuredKernel& found,
                               const std::string& shape, double now_us) {
    const auto value = [&](const auto& map) {
      const auto one = map.find(shape);
      return one == map.end() ? 0 : one->second;
    };
    CheckedShape row{.name = kernel.name,
                     .shape = shape,
                     .member = static_cast<int>(value(found.members)),
                     .stored_us = value(kernel.stored_us),
                     .now_us = now_us,
                     .pytorch = value(found.pytorch),
                     .verdict = ShapeVerdict::unchecked,
                     .reason = {},
                     .changes = {}};
    for (const ShapeChange& change : found.changes)
      if (change.shape == shape) row.changes.push_back(change);
    judge(row, found.same_code);
    return row;
  }

  static void judge(CheckedShape& row, bool same_code) {
    const bool compared_then = std::ranges::any_of(
        row.changes, [](const ShapeChange& change) { return change.against == Against::then; });
    if (same_code || !row.changes.empty()) row.verdict = ShapeVerdict::fine;
    if (row.pytorch > 0 && !compared_then) row.verdict = ShapeVerdict::recorded;
    if (row.verdict == ShapeVerdict::recorded) row.reason = "later checks compare with these turns";
    if (row.verdict == ShapeVerdict::unchecked) row.reason = "there is nothing to compare with";
    std::vector<std::string> reasons;
    for (const ShapeChange& change : row.changes) {
      if (!change.named) continue;
      if (row.verdict != ShapeVerdict::slower)
        row.verdict = change.against == Against::pytorch ? ShapeVerdict::behind : ShapeVerdict::slower;
      reasons.push_back(change_text(change));
    }
    if (!reasons.empty()) row.reason = fmt::format("{}", fmt::join(reasons, "; "));
  }

  static std::string change_text(const ShapeChange& change) {
    const double percent = 100 * (change.ratio - 1);
    switch (change.against) {
      case Against::image:
        return fmt::format("compiled now it is {:.1f} % slower than the image of the package", percent);
      case Against::cost:
        return fmt::format("it costs {:.1f} % more than when it was packed", percent);
      case Against::then:
        return fmt::format("beside {} it is {:.1f} % slower than it was", change.label, percent);
      case Against::pytorch:
        return fmt::format("{:.1f} % slower than {}, which it led", percent, change.label);
    }
    return {};
  }

  const LibraryCheckOrder& order_;
  const Config& config_;
  const std::function<void(std::string_view)>& progress_;
  const std::atomic<bool>* stop_;
  Target target_;
  LibraryCheck check_;
  std::vector<MeasuredKernel> measured_;
};

}  // namespace

Target check_target(const ReadPackage& package, const std::string& device_flag) {
  const std::vector<std::string> targets = targets_of_package(package);
  if (targets.empty()) fail(ExitCode::bad_input, "{} has no operators", package.name);
  Target chosen = choose_target(device_flag, targets.front());
  const auto rank = [](const Arch& arch) { return std::pair(arch.number(), arch.feature != 0); };
  for (const std::string& name : targets) {
    const Result<Arch> arch = parse_arch(name);
    if (chosen.kind != DeviceKind::cuda || !arch || !can_load(chosen.device->arch, *arch)) continue;
    if (!can_load(chosen.device->arch, chosen.arch) || rank(*arch) > rank(chosen.arch)) chosen.arch = *arch;
  }
  if (!chosen.executes())
    fail(ExitCode::environment, "a package is checked on a device, and there is none{}{}",
         chosen.notice.empty() ? "" : ": ", chosen.notice);
  if (!package.device.empty() && package.device != chosen.device->name)
    fail(ExitCode::environment,
         "{} was measured on {} for {}, and this device is {}: its times say nothing of this one{}{}",
         package.name, package.device, fmt::join(targets, ", "), chosen.device->name,
         chosen.notice.empty() ? "" : "; ", chosen.notice);
  return chosen;
}

std::string_view verdict_name(ShapeVerdict verdict) {
  return kVerdicts.at(static_cast<std::size_t>(verdict));
}

std::vector<std::string> LibraryCheck::regressed() const {
  std::vector<std::string> names;
  for (const CheckedShape& row : shapes)
    if (row.regressed() && std::ranges::find(names, row.name) == names.end()) names.push_back(row.name);
  return names;
}

LibraryCheck check_library(const LibraryCheckOrder& order, const Config& config,
                           const std::function<void(std::string_view)>& progress,
                           const std::atomic<bool>* stop) {
  LibraryCheck check = LibraryChecker(order, config, progress, stop).run();
  const bool nothing = std::ranges::all_of(
      check.shapes, [](const CheckedShape& row) { return row.verdict == ShapeVerdict::unchecked; });
  if (nothing)
    fail(ExitCode::environment, "nothing of {} could be compared: {}", check.package.name,
         check.notes.empty() ? "it was never measured" : fmt::format("{}", fmt::join(check.notes, "; ")));
  return check;
}

}  // namespace ak::app
