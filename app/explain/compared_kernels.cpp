// SPDX-License-Identifier: Apache-2.0
#include "app/explain/compared_kernels.h"

#include "app/audit/problem_audits.h"
#include "app/evaluate/user_search.h"
#include "app/setup/target.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "db/database.h"

namespace ak::app {
namespace {

/// Both by the usual gates in one search; on a GPU then alternately, as a search compares a challenger.
std::pair<StoredKernel, StoredKernel> measured_now(const KernelSubject& a, const KernelSubject& b,
                                                   const EvaluationOptions& evaluation_options,
                                                   const Config& config,
                                                   const std::filesystem::path& database) {
  const Target target = choose_target(
      evaluation_options.device, evaluation_options.arch.empty() ? config.arch : evaluation_options.arch);
  if (!target.notice.empty()) print_stderr("note: {}\n", target.notice);
  if (!target.executes())
    fail(ExitCode::usage, "a comparison needs a device that runs kernels: {}", target.notice);
  const bool audited = require_audit(*a.problem, evaluation_options.unaudited, config, database);
  const auto store = db::open_store(database);
  UserSearch search({.problem = a.problem, .command = evaluation_options.command, .audited = audited}, target,
                    config, *store);
  const auto evaluate = [&](const KernelSubject& subject) {
    const Completed done = search.complete(search.request(subject.choice.candidate));
    return std::pair(search.commit(done, "").variant, done.result.outcome.status == Status::ok);
  };
  const auto [first, first_passed] = evaluate(a);
  const auto [second, second_passed] = evaluate(b);
  if (target.kind == DeviceKind::cuda && first_passed && second_passed && first != second) {
    EvaluationRequest request = search.request(b.choice.candidate);
    request.rival = std::make_shared<const Candidate>(a.choice.candidate);
    request.tag = std::to_string(first);
    search.commit(search.complete(std::move(request)), "comparison");
  }
  search.end("a comparison", std::nullopt);
  const auto stored = [&](RowId variant, const KernelSubject& subject) {
    return stored_kernel(database, variant, subject.choice.candidate, *subject.problem, search.device().name);
  };
  return {stored(first, a), stored(second, b)};
}

/// On one device where both were evaluated there: that of the first, else that of the second.
std::pair<StoredKernel, StoredKernel> on_one_device(StoredKernel a, StoredKernel b,
                                                    const std::filesystem::path& database) {
  const auto on = [&](StoredKernel& kernel, const std::string& device) {
    if (kernel.stored.device.name == device) return true;
    auto found = db::find_evaluation(database, kernel.stored.variant, device);
    if (!found) return false;
    kernel.stored = *std::move(found);
    return true;
  };
  if (!on(b, a.stored.device.name)) on(a, b.stored.device.name);
  return {std::move(a), std::move(b)};
}

}  // namespace

std::pair<StoredKernel, StoredKernel> compared_kernels(const KernelSubject& first,
                                                       const KernelSubject& second,
                                                       const EvaluationOptions& evaluation_options,
                                                       const Config& config,
                                                       const std::filesystem::path& database) {
  if (!evaluation_options.device.empty())
    return measured_now(first, second, evaluation_options, config, database);
  return on_one_device(evaluated_kernel(first, evaluation_options, config, database),
                       evaluated_kernel(second, evaluation_options, config, database), database);
}

}  // namespace ak::app
