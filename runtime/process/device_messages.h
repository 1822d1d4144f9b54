// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/device/calibration.h"
#include "core/evaluation.h"

namespace ak::runtime {

// What parent and device worker tell each other; docs/device_messages.md describes the JSON.

struct TensorLayout {
  std::string name;
  DType dtype = DType::float32;
  bool output = false;
  std::string alias_of;  ///< of an output: the input whose memory it shares; else empty
  bool scalar = false;   ///< of an input: passed by value, it has no memory
  bool zeroed = false;   ///< of an output: holds zeros before every call
  bool weight = false;   ///< of an input: a candidate may prepare it
};

/// A program to load: the image and, for every kernel, its name in plans and its symbol in the image.
struct KernelImage {
  std::string image;  ///< a cubin; PTX text for the CPU device
  std::vector<std::pair<std::string, std::string>> kernels;
  std::string file_name = {};  ///< the source's own, whose lines messages name; empty: not known
};

/// One input distribution of a workload.
struct DrawnInputs {
  std::string name;
  std::vector<ak_random::Draw> draws;  ///< of the inputs among OpenProblem::tensors, in order
};

struct WorkloadLayout {
  std::string name;
  std::vector<std::vector<std::int64_t>> shapes;  ///< of OpenProblem::tensors, in order
  std::vector<DrawnInputs> distributions = {};    ///< the first is also used for timing
  ResolvedPlan exact, twin;                       ///< of a reference that is a kernel
  AxisValues axes = {};                           ///< every axis, for a reference in Python
  double operations = 0;                          ///< of one call, as the problem counts them

  [[nodiscard]] std::int64_t elements(std::size_t tensor) const;
};

/// What the process that computes a Python reference is started with.
struct PythonProcess {
  std::string program;                ///< the interpreter, absolute
  std::vector<std::string> path;      ///< where it finds modules
  std::vector<std::string> readable;  ///< folders of its installation
  std::string file, source_hash;      ///< the reference, and the SHA-256 of its text
  std::string kind;                   ///< of kPythonKinds
  Json options = Json::object();      ///< of PythonReference
  std::string starter = {};           ///< ReferenceStarter::offer(); empty: none
  bool on_cpu = false;                ///< although the device is a GPU; the worker says so, not the message
};

struct OpenProblem {
  std::string problem;                   ///< family name, for messages
  DeviceKind device = DeviceKind::cuda;  ///< what it is opened on: cuda or emulator
  Arch arch;                             ///< what the images are built for
  int ordinal = 0;
  int sm_count = 0;           ///< of an emulator; 0: as many as the product of `arch` has
  std::string harness_image;  ///< as KernelImage::image
  KernelImage exact, twin;    ///< of a reference that is a kernel
  std::vector<TensorLayout> tensors;
  std::vector<WorkloadLayout> workloads;
  Tolerance tolerance;
  std::map<std::string, std::string> params = {};  ///< for libraries to know the operation by
  std::vector<std::string> libraries = {};         ///< ProblemInstance::baselines
  std::string scratch_dir = {};  ///< the only folder that the worker may write from then on; empty: none
  std::optional<PythonProcess> python = {};  ///< computes the reference; else `exact` and `twin` do

  /// Asserts that there is one. Looked up in `by_name`, which the first call makes: there may be thousands, each asked
  /// for many times. One thread.
  [[nodiscard]] const WorkloadLayout& workload(const std::string& name) const;
  mutable std::unordered_map<std::string, std::size_t> by_name = {};
};

/// A call of a candidate overwrites what the next one needs.
[[nodiscard]] bool works_in_place(const OpenProblem& problem);

/// When sampling stops (docs/timing.md).
struct TimingBudget {
  int minimum_samples = 10;
  int maximum_samples = 200;
  double gpu_ms = 40;             ///< sum of samples, per workload
  double relative_error = 0.005;  ///< half width of the 95 % interval of the median
  int compared_samples = 8;       ///< whose results are compared with the reference, at most; two at least
};

struct WorkloadTask {
  std::string workload;
  ResolvedPlan plan;
  std::vector<std::string> distributions;  ///< to check with; empty: no check
  bool time = false;
  bool batch = false;                           ///< too short for an event pair of its own
  bool energy = false;                          ///< measured when everything has been timed
  std::optional<double> champion_score_ns;      ///< of this workload
  std::optional<ResolvedPlan> rival_plan = {};  ///< set where the task has a rival
  /// Outputs that alias inputs get their own memory: a reference need not work in place.
  bool separate_outputs = false;
};

struct DeviceTask {
  KernelImage image;         ///< empty: the problem's baselines (its twin, and libraries on a GPU) are timed
  KernelImage rival = {};    ///< not empty: nothing is checked, and the two are timed alternately
  std::string library = {};  ///< not empty: the same with this library's fastest proposal as the other
  bool changing = false;     ///< timed on inputs that change from call to call; in pairs always
  std::optional<ProfileOptions> profile = {};  ///< set: the timed workloads are profiled, and nothing else
  std::uint64_t seed = 0;
  std::vector<WorkloadTask> workloads;  ///< checked in this order, then timed in this order
  TimingBudget budget;
  double limit_ms = 0;  ///< time that the parent gives it; 0: not known
  std::string dump_dir =
      {};  ///< not empty: inputs and references are written there, and nothing else happens
  std::string mutation =
      {};  ///< of kAutomaticMutations: not empty: its results are compared, and nothing else
  /// Set: the problem's twin is checked in a candidate's place, with this of its declared mutations; empty: none.
  std::optional<std::string> twin = {};
  std::string mutated_input =
      {};  ///< not empty: `mutation` is one of this input (core/plan/input_mutation.h)
  bool follow_bytes =
      false;  ///< on the CPU device measurements count the different bytes of tensors that are touched
};

/// It is timed in pairs with another, and nothing is checked but what was timed.
[[nodiscard]] inline bool in_pairs(const DeviceTask& task) {
  return !task.rival.image.empty() || !task.library.empty();
}

struct DeviceAnswer {
  Outcome outcome;
  std::vector<CheckRecord> checks;
  std::vector<Measurement> measurements;
  std::vector<Profile> profiles;  ///< metrics by the hardware's names
  bool rival_failed = false;      ///< the outcome is that of the task's rival
  double check_ms = 0, time_ms = 0;
  double reference_ms = 0;  ///< part of check_ms: making inputs and references that were not kept yet
  double busy_ms = 0;       ///< wall time spent on the request
  bool lost = false;        ///< the worker's process can no longer use the device and exits
  std::string device_fault =
      {};  ///< of the hardware, in words: the outcome says nothing of the candidate; empty: none
};

/// A device whose fixed program is to be timed, by a process that has run no candidate.
struct CalibrationTask {
  DeviceKind device = DeviceKind::cuda;
  Arch arch;  ///< of the CPU device
  int ordinal = 0;
};

[[nodiscard]] Json to_json(const CalibrationTask& task);
[[nodiscard]] CalibrationTask calibration_task_from_json(const Json& json);
[[nodiscard]] Json to_json(const Calibration& calibration);
[[nodiscard]] Json to_json(const OpenProblem& problem);
[[nodiscard]] OpenProblem open_problem_from_json(const Json& json);
[[nodiscard]] Json to_json(const DeviceTask& task);
[[nodiscard]] DeviceTask device_task_from_json(const Json& json);
[[nodiscard]] Json to_json(const DeviceAnswer& answer);
[[nodiscard]] DeviceAnswer device_answer_from_json(const Json& json);

}  // namespace ak::runtime
