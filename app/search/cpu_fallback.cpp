// SPDX-License-Identifier: Apache-2.0
#include "app/search/cpu_fallback.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/search/run_journal.h"
#include "app/sets/kernel_search.h"
#include "core/error.h"
#include "core/text/print_stderr.h"

namespace ak::app {
namespace {

template <class Limit, class Used>
void take_from(std::optional<Limit>& limit, Used used) {
  if (limit) *limit = std::max(*limit - static_cast<Limit>(used), Limit{});
}

/// After a resume the search may be lost before it has come to where it was.
agent::Progress most_of(agent::Progress a, const agent::Progress& b) {
  a.evaluated = std::max(a.evaluated, b.evaluated);
  a.verified = std::max(a.verified, b.verified);
  a.tokens = std::max(a.tokens, b.tokens);
  a.cost_usd = std::max(a.cost_usd, b.cost_usd);
  a.elapsed_s = std::max(a.elapsed_s, b.elapsed_s);
  return a;
}

/// "k.cu" is that of the GPUs, whose kernel stays.
OutputPaths beside(const OutputPaths& paths) {
  std::filesystem::path kernel = paths.kernel;
  return run_paths(kernel.replace_extension(".cpu_device.cu"));
}

/// Times, and what was learned of them, are no costs.
void move_to_cpu(SearchRun& run) {
  const Arch arch = run.target.arch;
  run.target = cpu_device_of(arch);
  run.target.notice.clear();  // what is said says it
  run.target.fell_back = true;
  run.budgets.target_ns.reset();
  run.earlier.clear();
  run.baselines.clear();
  run.journal = nullptr;
  run.session_search.reset();
  if (!run.paths.kernel.empty()) run.paths = beside(run.paths);
}

}  // namespace

bool take_spent(SearchRun& run) {
  agent::Budgets& budgets = run.budgets;
  const agent::Progress& spent = run.spent;
  take_from(budgets.max_evaluations, spent.evaluated);
  take_from(budgets.max_tokens, spent.tokens);
  take_from(budgets.max_cost_usd, spent.cost_usd);
  if (budgets.max_wall)
    take_from(budgets.max_wall, std::chrono::milliseconds(std::llround(1e3 * spent.elapsed_s)));
  run.spent_before = {};
  return budgets.max_evaluations != 0 && budgets.max_tokens != 0 && budgets.max_cost_usd != 0.0 &&
         budgets.max_wall != std::chrono::milliseconds::zero();
}

SearchOutcome find_kernel_or_fall_back(SearchRun& run, const Config& config, VariantStore& store,
                                       const std::atomic<bool>& stop) {
  bool found = false;
  SearchRun on_gpus = run;
  on_gpus.on_progress = [&](const agent::Progress& progress, const codegen::RunSummary& summary) {
    run.spent = most_of(run.spent, progress);
    if (run.on_progress) run.on_progress(progress, summary);
  };
  on_gpus.on_new_best = [&](const Completed& best) {
    found = true;
    if (run.on_new_best) run.on_new_best(best);
  };
  try {
    const auto kept = run.journal != nullptr ? run.journal->around(store) : nullptr;
    return find_kernel(on_gpus, config, kept ? *kept : store, stop);
  } catch (const Error& error) {
    const bool lost = error.code() == ExitCode::environment && run.target.kind == DeviceKind::cuda;
    if (!lost || !run.target.cpu_fallback || run.per_shape || stop || !take_spent(run)) throw;
    const std::filesystem::path kernel = run.paths.kernel;
    move_to_cpu(run);
    print_stderr(
        "note: the GPUs of the pool are gone: {}\n"
        "note: what is left of the search goes on with the CPU device, as its pool's file says; it is "
        "another search, whose costs are not ranked with times{}\n",
        error.what(),
        kernel.empty()
            ? ""
            : fmt::format(", and its kernel is {}{}", run.paths.kernel.string(),
                          found ? fmt::format("; that of the GPUs stays in {}", kernel.string()) : ""));
  }
  return find_kernel(run, config, store, stop);
}

}  // namespace ak::app
