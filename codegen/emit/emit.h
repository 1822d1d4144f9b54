// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/emit/explanation_parts.h"
#include "core/device/device_facts.h"
#include "core/evaluation.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"
#include "core/prediction.h"

namespace ak::codegen {

/// The finished file: the candidate with definition name, params and chosen tunables written into its plan
/// and its stand-alone constants, so that `evaluate k.cu` needs no flag and `nvcc -c k.cu` compiles it.
[[nodiscard]] std::string emit_kernel(const ProblemInstance& problem, const Candidate& candidate);

/// What the explanation says of the run that found the kernel.
struct RunSummary {
  std::string device, arch, proposer, strategy, stop_reason, command, version;
  bool executed = false;  ///< false: built and ranked by resource facts only
  bool emulated = false;  ///< executed on the CPU emulator: costs are estimates, not times
  int evaluations = 0, verified = 0;
  bool chosen = true;  ///< the run ended with this kernel; false: it was evaluated by itself, or lost
  double wall_s = 0;
  std::optional<double> baseline_ns;  ///< weighted geometric mean of the named baseline
  std::string baseline_label;
  std::vector<std::string> baseline_notes;  ///< how exact libraries are, or why they are none
  DeviceFacts facts;  ///< of the device, for the floors; with what is not known there are none
  std::string other_devices =
      {};                   ///< what other devices of a pool say of the champion; empty where none was asked
  std::string examination;  ///< what examiners found in the champion; empty when there is nothing to say
  std::string
      final_measurement;  ///< what measuring the champion again gave; empty when there is nothing to say
  std::vector<std::string> bottlenecks;      ///< what limits the champion, a sentence a profiled workload
  std::vector<std::string> duration_checks;  ///< its times as hardware counters saw them, the same
  std::vector<std::string> turns;            ///< the champion timed in turns with baselines, a sentence each
  std::string verdict = {};  ///< how good the result is, verdict_text(); empty: nothing is known of that
  std::string energy;        ///< what a call of the champion takes; empty when there is nothing to say
  std::string set;           ///< which kernel takes which shape, a section; empty: it is one kernel
  std::string held_out;      ///< what the check on held-out shapes found; empty when there is nothing to say
  std::optional<PredictedScore> predicted;  ///< of the kernel on the target; nothing: nothing was predicted
  std::string ranking;     ///< on the CPU device: what ranked the candidates, and why; empty: nothing to say
  ExplanationParts parts;  ///< what was found out when the run had ended; empty before
  std::string use;         ///< how a program calls the kernel; empty: it is not known
  std::string tools;       ///< commands for profilers and checkers on the stand-alone test; empty: none
};

/// k.explanation.md: what the kernel does and why these parameters, resources and occupancy, measured times
/// against bytes and FLOPs, what was checked and how tightly, how to reproduce it. States plainly when
/// nothing was executed.
[[nodiscard]] std::string emit_explanation(const ProblemInstance& problem, const Candidate& candidate,
                                           const EvaluationResult& result, const RunSummary& run);

/// The times that were predicted of the kernel on the target, or what ranked it in their place; empty where nothing
/// was emulated.
[[nodiscard]] std::string prediction_section(const RunSummary& run);

/// k.test.cu: a stand-alone host program. The command in its head builds it with nvcc for `arch`, with
/// nothing else but `kernel_file` alongside it; it fills inputs, runs the reference and the kernel, compares,
/// times with cold L2, prints one line per workload and exits 1 on a mismatch.
[[nodiscard]] std::string emit_stand_alone_test(const ProblemInstance& problem, const Candidate& candidate,
                                                const Arch& arch, const std::string& kernel_file);

/// The same of an exported kernel: it calls NAME_launch() of NAME.h (codegen/export/export.h).
[[nodiscard]] std::string emit_exported_benchmark(const ProblemInstance& problem, const Candidate& candidate,
                                                  const Arch& arch, const std::string& name);

/// The command that builds that test, and those that run it under Nsight Compute and compute-sanitizer, a
/// line each. They are in the test's head, too.
[[nodiscard]] std::string stand_alone_test_commands(const ProblemInstance& problem,
                                                    const Candidate& candidate, const Arch& arch,
                                                    const std::string& kernel_file);

}  // namespace ak::codegen
