// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <string>

#include "agent/loop.h"
#include "codegen/emit/emit.h"
#include "core/plan/problem.h"

namespace ak::app {

/// The files of a run: k.cu, and alongside it k.explanation.md, k.test.cu, k.result.json and, where the kernel can
/// be called from C++ (codegen/export/export.h), k.launch.cuh.
struct OutputPaths {
  std::filesystem::path kernel, explanation, test, result, launcher;

  [[nodiscard]] std::array<std::filesystem::path, 5> all() const {
    return {kernel, explanation, test, result, launcher};
  }
};
/// Paths for `output` ("k.cu"), whether they are there or not.
[[nodiscard]] OutputPaths run_paths(const std::filesystem::path& output);
/// The same, before a run that will write them. Throws Error(usage) when it does not end in .cu, Error(output) when the
/// folder is missing or not writable.
[[nodiscard]] OutputPaths output_paths(const std::filesystem::path& output);

/// Writes kernel, explanation, test and launcher for a verified (or, with nothing executed, the best ranked) candidate.
void write_kernel_files(const OutputPaths& paths, const ProblemInstance& problem, const Completed& best,
                        const codegen::RunSummary& run);

/// Removes what this and earlier runs left there: its kernel was found to be wrong.
void remove_kernel_files(const OutputPaths& paths);

/// The fastest of the baselines that came with the first timed results, by weighted geometric mean; one that
/// misses shapes is left out. Nothing when there is none.
void note_baseline(codegen::RunSummary& run, const ProblemInstance& problem, const EvaluationResult& result);

/// "right on all 6; 2 candidates were disqualified there", or why nothing was checked.
[[nodiscard]] std::string held_out_text(const agent::HeldOutReport& report);
/// "passed", or why it was not examined on the CPU device.
[[nodiscard]] std::string examination_text(const std::vector<agent::ExaminationReport>& reports);
/// "cuda:1 agrees: 35.9 us there; ssh gpu7 deviates: ..."; empty where none was asked.
[[nodiscard]] std::string other_devices_text(const agent::LoopResult& loop);
/// "measured again in a fresh process: 32.70 us (in the search: 32.51 us)", or why it was not; empty where
/// nothing is timed.
[[nodiscard]] std::string final_text(const agent::LoopResult& loop);

/// k.result.json, and what --json prints: outcome of the run in one object. docs/result_json.md
/// names every field.
[[nodiscard]] Json result_json(const ProblemInstance& problem, const agent::LoopResult& loop,
                               const codegen::RunSummary& run, const OutputPaths& paths);

/// One evaluation as JSON: status, checks, measurements, resources.
[[nodiscard]] Json evaluation_json(const EvaluationResult& result);

/// The same for people: one line for each check that failed and each workload timed.
[[nodiscard]] std::string evaluation_text(const ProblemInstance& problem, const EvaluationResult& result);

/// That below a line with the kernel's name, how the evaluation ended, at which gate and why.
[[nodiscard]] std::string evaluation_page(const std::string& name, const ProblemInstance& problem,
                                          const EvaluationResult& result);

}  // namespace ak::app
