// SPDX-License-Identifier: Apache-2.0
#include "app/explain/evaluated_subject.h"

#include "app/audit/problem_audits.h"
#include "app/evaluate/single_evaluation.h"
#include "app/setup/target.h"
#include "core/text/say.h"
#include "db/read/evaluated_variant.h"

namespace ak::tools {

StoredKernel evaluated_kernel(const KernelSubject& subject, const EvaluationWish& wish, const Config& config,
                              const std::filesystem::path& database) {
  const auto known = known_variant(database, subject.choice, subject.file, subject.problem->definition.name);
  const Candidate candidate =
      known ? kernel_of_variant(database, std::to_string(*known)).candidate : subject.choice.candidate;
  if (known && wish.device.empty() && db::find_evaluation(database, *known))
    return stored_kernel(database, *known, candidate, *subject.problem);
  const Target target = choose_target(wish.device.empty() ? config.device : wish.device,
                                      wish.arch.empty() ? config.arch : wish.arch);
  if (!target.notice.empty()) say("note: {}\n", target.notice);
  if (wish.device.empty()) say("note: {} was never evaluated; doing so now\n", subject.file);
  const SingleOrder order{.problem = subject.problem,
                          .candidate = candidate,
                          .command = wish.command,
                          .audited = require_audit(*subject.problem, wish.unaudited, config, database)};
  const RowId variant = evaluate_once(order, target, config, database).stored.variant;
  return stored_kernel(database, variant, candidate, *subject.problem,
                       target.device ? target.device->name : "");
}

}  // namespace ak::tools
