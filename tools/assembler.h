// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/local_evaluator.h"
#include "tools/config.h"
#include "tools/target.h"

namespace ak::tools {

/// codegen's functions in the form runtime takes them.
[[nodiscard]] runtime::SourceAssembler source_assembler();

/// The evaluator that `generate`, `evaluate` and `problem check` share.
/// On the device and with the configuration of a run.
[[nodiscard]] runtime::EvaluatorOptions evaluator_options(const Target& target, const Config& config);
[[nodiscard]] std::unique_ptr<Evaluator> make_evaluator(const Target& target, const Config& config);
/// The CPU device in the place of `target`'s GPU, for a single candidate now and then.
[[nodiscard]] std::unique_ptr<Evaluator> make_examiner(const Target& target, const Config& config);

}  // namespace ak::tools
