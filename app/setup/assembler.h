// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/loop.h"
#include "app/setup/config.h"
#include "app/setup/target.h"
#include "runtime/evaluator/local_evaluator.h"

namespace ak::app {

/// codegen's functions in the form runtime takes them.
[[nodiscard]] runtime::SourceAssembler source_assembler();

/// The one of this process, so that PyTorch is imported once.
[[nodiscard]] const std::shared_ptr<runtime::ReferenceStarter>& reference_starter();

/// The evaluator that `generate`, `evaluate` and `problem check` share.
/// On the device and with the configuration of a run.
[[nodiscard]] runtime::EvaluatorOptions evaluator_options(const Target& target, const Config& config);
[[nodiscard]] std::unique_ptr<Evaluator> make_evaluator(const Target& target, const Config& config);
/// The machine code of a kernel, from the build cache where it is there. Blocks. Throws Error(bad_input) where it cannot be
/// built.
[[nodiscard]] BuildResult built_kernel(const std::shared_ptr<const ProblemInstance>& problem,
                                       const Candidate& candidate, const Arch& arch, const Config& config);
/// CPU devices of so few multiprocessors that blocks which stay, and rings that are used again, have work for several rounds
/// on small shapes: one, and two for clusters of two blocks.
[[nodiscard]] std::vector<agent::LoopOptions::Examiner> small_devices(
    const Target& target, const Config& config, const runtime::OnEvaluatorWait& on_wait);

/// What examines the leader of a search: on a GPU the CPU device, and compute-sanitizer where it is installed; on both
/// the small_devices. @param device of the search; @param on_wait of EvaluatorOptions
[[nodiscard]] std::vector<agent::LoopOptions::Examiner> examiners(const Target& target, const Config& config,
                                                                  const DeviceFacts& device,
                                                                  const runtime::OnEvaluatorWait& on_wait);

}  // namespace ak::app
