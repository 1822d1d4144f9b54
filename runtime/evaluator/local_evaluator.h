// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/evaluation.h"
#include "core/text/file.h"
#include "runtime/fleet/device_calibrations.h"
#include "runtime/reference/python_installation.h"

namespace ak::runtime {

/// How the evaluator turns candidates into translation units; tools hands in codegen's functions, since
/// runtime does not know codegen.
struct SourceAssembler {
  std::function<std::vector<Diagnostic>(const ProblemInstance&, const Candidate&)> pre_check;
  std::function<Result<TranslationUnit>(const ProblemInstance&, const Candidate&, const Arch&)> candidate;
  std::function<Result<TranslationUnit>(const ProblemInstance&, const Arch&)> exact_reference;
  std::function<Result<TranslationUnit>(const ProblemInstance&, const Arch&)> twin_reference;
  std::function<TranslationUnit(std::string file_name, std::string source, const Arch&)> plain;
  std::function<Result<TranslationUnit>(const ProblemInstance&, const Arch&, const Mutation&)>
      mutation_reference = {};
};

/// As many emulators as cores, but no more than there are compile workers at most: both want the same cores.
inline constexpr int kMaxEmulators = 16;

/// What an evaluator has in hand.
struct EvaluatorActivity {
  bool references_built = true;      ///< of every problem that an evaluation in hand runs
  int in_hand = 0;                   ///< evaluations that have not ended
  int built = 0;                     ///< of these, those whose program is built
  std::vector<PoolPlace> pool = {};  ///< empty: there is none
};

using OnEvaluatorWait = std::function<void(const EvaluatorActivity&)>;

/// Where one device of a pool is (docs/fleet.md).
struct DevicePlace {
  std::string name;                         ///< for people: "cuda:1", "ssh gpu7, cuda:0"
  std::vector<std::string> worker_command;  ///< as EvaluatorOptions::worker_command; empty: that one
  int ordinal = 0;                          ///< of the GPUs that its worker sees
  bool connects = false;  ///< a worker of somebody else's takes the place, and may be another each time
  std::shared_ptr<const FileDescriptor> claim =
      {};  ///< to the address where that connects; null: it does not

  /// A device of this machine, whose worker is this program's own.
  [[nodiscard]] bool own() const { return worker_command.empty(); }
};

struct EvaluatorOptions {
  DeviceKind device = DeviceKind::cuda;  ///< emulator: several on the CPU, at most one a core
  int ordinal = 0;
  Arch target;
  /// Several devices that candidates are spread over, in place of the one of `ordinal` or as many CPU devices as there
  /// are cores. The first decides: what is compared or measured for good is run there, and facts are its facts.
  std::vector<DevicePlace> pool = {};
  std::chrono::milliseconds calibration_interval = kCalibrationInterval;  ///< of the devices of a pool
  int max_emulators = kMaxEmulators;
  int emulated_sms = 0;     ///< multiprocessors of a CPU device; 0: as many as the target's product has
  int compile_workers = 0;  ///< 0: one per core, at most 16
  std::filesystem::path cache_dir;  ///< empty: no cache on disk
  std::vector<std::string>
      worker_command;                 ///< e.g. {"/usr/bin/alphakernel", "worker"}; "--role ..." is appended
  std::vector<std::string> launcher;  ///< prefix for the device worker, e.g. {"srun", "--gpus=1"}
  bool watched = false;  ///< the launcher watches the device worker's kernels (compute_sanitizer.h)
  std::chrono::milliseconds compile_deadline{30'000};
  /// Gives metrics of profiles, which have the hardware's names, those of the caller; none: they stay.
  std::function<Profile(Profile)> name_metrics = {};
  /// While an evaluation is waited for, at every event and at least once a second; none: no one is notified.
  OnEvaluatorWait on_wait = {};
  PythonChoice python = {};   ///< for references in Python
  bool time_baseline = true;  ///< time the problem's reference-free naive baseline in the same process
};

/// CPU devices that an evaluator for DeviceKind::emulator runs at a time: one a core, at most 16.
[[nodiscard]] int emulator_count();

/// Compile workers, build cache and device workers (one for DeviceKind::cuda) behind the Evaluator interface.
/// On the emulator measurements are estimated costs (method "emulator"), of the workloads that suit it.
/// Throws Error(environment) when NVRTC, the driver or the device is missing, saying what to install.
[[nodiscard]] std::unique_ptr<Evaluator> make_local_evaluator(EvaluatorOptions options,
                                                              SourceAssembler assembler);

/// Devices the driver reports; empty with `why` set when there is no driver or no device. Runs in a child
/// process of `worker_command` so that the caller never initialises CUDA.
[[nodiscard]] std::vector<DeviceFacts> probe_devices(const std::vector<std::string>& worker_command,
                                                     std::string& why);

}  // namespace ak::runtime
