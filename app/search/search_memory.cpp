// SPDX-License-Identifier: Apache-2.0
#include "app/search/search_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/knowledge/learn.h"
#include "app/search/porting.h"
#include "core/error.h"
#include "core/text/print_stderr.h"

namespace ak::app {

db::InsightScope scope_of(const SearchRun& run, const DeviceFacts& device) {
  return {.algorithm = run.problem->problem,
          .arch = run.target.arch.sm(),
          .device = device.name,
          .device_kind = device.kind == DeviceKind::emulator ? "emulator" : "cuda"};
}

Memory memory_of(const SearchRun& run, const db::InsightScope& scope) {
  Memory memory = run.database.empty() || run.one_by_one ? Memory{} : recall(run.database, scope);
  if (run.port) memory.lessons = port_lesson(*run.port, *run.problem, run.target) + memory.lessons;
  return memory;
}

void learn_from(const SearchRun& run, const db::InsightScope& scope, const SearchOutcome& outcome) {
  try {
    if (!outcome.summary.bottlenecks.empty() && outcome.loop.best_variant) {
      const db::Insight found{
          .id = 0,
          .scope = scope,
          .kind = "bottleneck",
          .subject = run.problem->definition.name,
          .text = fmt::format("the best known kernel of {} is limited by {}", run.problem->definition.name,
                              fmt::join(outcome.summary.bottlenecks, "; ")),
          .bottleneck = outcome.bottleneck,
          .ratio = std::nullopt,
          .tries = 1,
          .wins = 0,
          .evidence = {{"variants", {{*outcome.loop.best_variant}}}}};
      db::replace_insights(run.database, scope, {}, {&found, 1});
    }
    learn(run.database, scope);
  } catch (const Error& error) {
    print_stderr("note: nothing was learned from this search: {}\n", error.what());
  }
}

}  // namespace ak::app
