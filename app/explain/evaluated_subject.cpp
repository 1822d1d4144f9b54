// SPDX-License-Identifier: Apache-2.0
#include "app/explain/evaluated_subject.h"

#include "app/audit/problem_audits.h"
#include "app/evaluate/single_evaluation.h"
#include "app/setup/target.h"
#include "core/text/print_stderr.h"
#include "db/read/evaluated_variant.h"

namespace ak::app {

StoredKernel evaluated_kernel(const KernelSubject& subject, const EvaluationOptions& evaluation_options,
                              const Config& config, const std::filesystem::path& database) {
  const auto known = known_variant(database, subject.choice, subject.file, subject.problem->definition.name);
  const Candidate candidate =
      known ? kernel_of_variant(database, std::to_string(*known)).candidate : subject.choice.candidate;
  if (known && evaluation_options.device.empty() && db::find_evaluation(database, *known))
    return stored_kernel(database, *known, candidate, *subject.problem);
  const Target target =
      choose_target(evaluation_options.device.empty() ? config.device : evaluation_options.device,
                    evaluation_options.arch.empty() ? config.arch : evaluation_options.arch);
  if (!target.notice.empty()) print_stderr("note: {}\n", target.notice);
  if (evaluation_options.device.empty())
    print_stderr("note: {} was never evaluated; doing so now\n", subject.file);
  const SingleOrder order{
      .problem = subject.problem,
      .candidate = candidate,
      .command = evaluation_options.command,
      .audited = require_audit(*subject.problem, evaluation_options.unaudited, config, database)};
  const RowId variant = evaluate_once(order, target, config, database).stored.variant;
  return stored_kernel(database, variant, candidate, *subject.problem,
                       target.device ? target.device->name : "");
}

}  // namespace ak::app
