// SPDX-License-Identifier: Apache-2.0
#include "app/export/kernel_export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "codegen/emit/markdown.h"
#include "core/device/device_facts.h"
#include "core/error.h"
#include "db/database.h"
#include "db/read/table_rows.h"
#include "runtime/build/candidate_plan.h"

namespace ak::app {
namespace {

constexpr std::chrono::milliseconds kQueryLimit{60'000};

std::string time_cell(const Measurement& m) {
  if (m.method == kEmulatedMethod) return fmt::format("{:.2f} us (estimated cost)", m.median_ns / 1e3);
  return fmt::format("{:.2f} us [{:.2f}, {:.2f}]", m.median_ns / 1e3, m.ci_low_ns / 1e3, m.ci_high_ns / 1e3);
}

/// The fastest baseline on the shape; empty without one.
std::string baseline_cell(const EvaluationResult& result, const Measurement& own) {
  const Measurement* best = nullptr;
  for (const Measurement& m : result.measurements) {
    if (m.role != MeasurementRole::baseline || m.workload != own.workload || m.cold != own.cold) continue;
    if (m.median_ns > 0 && (best == nullptr || m.median_ns < best->median_ns)) best = &m;
  }
  if (best == nullptr || own.median_ns <= 0) return "";
  return fmt::format("{:.2f}x {}", best->median_ns / own.median_ns, best->label);
}

std::string times_table(const db::EvaluatedVariant& stored) {
  std::string rows;
  for (const Measurement& m : stored.result.measurements)
    if (m.role == MeasurementRole::candidate && m.cold)
      rows += fmt::format("| {} | {} | {} |\n", codegen::markdown_cell(m.workload), time_cell(m),
                          codegen::markdown_cell(baseline_cell(stored.result, m)));
  if (rows.empty()) return "It was not timed.\n";
  return "| shape | median with a cold L2, 95 % interval | faster than the fastest baseline by "
         "|\n|---|---|---|\n" +
         rows;
}

/// What its own comparisons with the reference showed.
std::string comparisons_text(const EvaluationResult& result) {
  if (result.outcome.status == Status::duplicate)
    return fmt::format("It was not compared with the reference itself: it is {}.\n",
                       codegen::markdown_cell(result.outcome.message));
  if (result.checks.empty()) return "No comparison with a reference is recorded.\n";
  std::set<std::string> shapes;
  double worst = 0, bound = 0;
  for (const CheckRecord& check : result.checks) {
    shapes.insert(check.workload);
    if (check.tolerance > 0 && check.max_error / check.tolerance >= worst)
      worst = check.max_error / check.tolerance, bound = check.tolerance;
  }
  const std::string largest =
      bound > 0 ? fmt::format("the largest error was {:.0f} % of its bound ({:.2e})", 100 * worst, bound)
                : std::string("results had to be equal");
  return fmt::format("{} comparisons with an fp64 reference on {} shape{} passed; {}.\n",
                     result.checks.size(), shapes.size(), shapes.size() == 1 ? "" : "s", largest);
}

/// Which member takes which shape; empty where it is one kernel.
std::string members_text(const db::EvaluatedVariant& stored, const std::filesystem::path& database) {
  const db::Table members = db::query(
      database,
      "SELECT m.condition, m.number, v.name FROM kernel_members m JOIN variants v ON v.id = m.member "
      "WHERE m.variant = :variant AND m.member <> m.variant ORDER BY m.number",
      0, kQueryLimit, {{"variant", stored.variant}});
  std::string text;
  for (const db::TableRow& row : db::rows_of(members))
    text += fmt::format("| {} | {} | {} |\n", row.integer("number"),
                        codegen::markdown_cell(row.text("condition")),
                        codegen::markdown_cell(std::filesystem::path(row.text("name")).filename().string()));
  return text.empty() ? ""
                      : "It is a set of kernels, of which each takes its shapes:\n\n| member | shapes | from "
                        "|\n|---|---|---|\n" +
                            text + "\n";
}

/// "Later, on shapes drawn at random: ok.", or that nothing of the kind was done.
std::string later_text(const db::EvaluatedVariant& stored) {
  std::string text;
  for (const db::LaterCheck& later : stored.later)
    text += fmt::format("Later, {} on {}: {}{}{}.\n",
                        later.arm == "held_out" ? "checked on shapes drawn at random" : "examined",
                        codegen::markdown_cell(later.device), later.status, later.message.empty() ? "" : ": ",
                        codegen::markdown_cell(later.message));
  if (std::ranges::none_of(stored.later, [](const db::LaterCheck& later) { return later.arm == "held_out"; }))
    text += "It was not checked on shapes drawn at random.\n";
  return text;
}

std::string checks_text(const db::EvaluatedVariant& stored) {
  return comparisons_text(stored.result) + later_text(stored);
}

std::string measured_text(const ExportChoice& choice) {
  if (!choice.stored) return "It was not evaluated: nothing is known of its results and times.\n";
  const db::EvaluatedVariant& stored = *choice.stored;
  const bool ran = stored.result.outcome.status != Status::compiled_only;
  if (!ran) return "It was built and never run: nothing is known of its results and times.\n";
  const bool estimated = stored.device.kind == DeviceKind::emulator;
  return choice.members +
         fmt::format("On {} ({}) by AlphaKernel {}, variant {}, search {}.{}\n\n{}\n{}",
                     codegen::markdown_cell(stored.device.name), stored.arch.sm(), stored.version,
                     stored.variant, stored.search,
                     estimated ? " Costs are estimates of the CPU device, no GPU times." : "",
                     times_table(stored), checks_text(stored));
}

std::string origin_text(const ExportChoice& choice, const ProblemInstance& problem) {
  const std::string& source = choice.kernel.candidate.source;
  const bool shipped =
      std::ranges::find(problem.templates, source, &CandidateFile::source) != problem.templates.end();
  if (shipped)
    return fmt::format("The kernel is `{}` of the problem `{}`, under the licence of that.",
                       choice.kernel.candidate.name, problem.problem);
  return fmt::format(
      "The kernel's source came from `{}`: what may be done with it is what its author says. Of a language "
      "model's answer look at the terms of its provider.",
      choice.kernel.candidate.name);
}

void require_right(const db::EvaluatedVariant& stored) {
  const Outcome& outcome = stored.result.outcome;
  if (!is_verified(outcome.status) && outcome.status != Status::compiled_only)
    fail(ExitCode::no_kernel, "variant {} ended as {}: {}; only kernels that passed are exported",
         stored.variant, to_string(outcome.status), outcome.message);
  for (const db::LaterCheck& later : stored.later)
    if (later.status != "ok" && later.arm == "held_out")
      fail(ExitCode::no_kernel,
           "variant {} failed on shapes drawn at random: {}; only kernels that passed are exported",
           stored.variant, later.message);
}

}  // namespace

ExportChoice export_choice(const std::string& word, const std::string& device,
                           const std::filesystem::path& database) {
  ExportChoice choice{.kernel = choose_kernel(word, database), .stored = {}, .members = ""};
  const auto variant = known_variant(database, choice.kernel, word, "");
  if (variant) choice.stored = db::find_evaluation(database, *variant, device);
  if (!choice.stored) return choice;
  require_right(*choice.stored);
  choice.members = members_text(*choice.stored, database);
  return choice;
}

std::string best_variant_of(const std::string& definition, const std::string& device,
                            const std::filesystem::path& database) {
  if (const auto best = best_variant(database, definition, device, "")) return std::to_string(*best);
  const db::Table known = db::query(database, "SELECT DISTINCT definition FROM best_kernels", 0, kQueryLimit);
  std::vector<std::string> names;
  for (const db::TableRow& row : db::rows_of(known)) names.push_back(row.text("definition"));
  fail(ExitCode::usage, "no verified kernel of '{}'{} is in {}; there are some of: {}", definition,
       device.empty() ? "" : fmt::format(" on a device called {}", device), database.string(),
       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

void require_target(const ExportChoice& choice, const ProblemInstance& problem, const Arch& target) {
  if (choice.stored && choice.stored->arch == target) return;
  Environment known = problem.environment({});
  known.merge(device_environment(runtime::nominal_device(target), target));
  const Candidate& candidate = choice.kernel.candidate;
  const auto broken = broken_constraints(candidate.plan, std::move(known), candidate.tunables);
  if (broken.empty()) return;
  fail(ExitCode::no_kernel,
       "this kernel is not for {} with these parameters: it needs {}; alphakernel generate --from KERNEL "
       "--arch {} ports it",
       target.sm(), fmt::join(broken, " and "), target.sm());
}

codegen::ExportFacts export_facts(const ExportChoice& choice, const ProblemInstance& problem) {
  return {.version = AK_VERSION, .measured = measured_text(choice), .origin = origin_text(choice, problem)};
}

}  // namespace ak::app
