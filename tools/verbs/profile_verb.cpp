// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/audit/problem_audits.h"
#include "app/evaluate/kernel_choice.h"
#include "app/evaluate/profiling.h"
#include "app/evaluate/run_files.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "db/database.h"
#include "profiler/analysis/profile_page.h"
#include "tools/command_line.h"
#include "tools/kernel_arguments.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

Json kernel_json(const app::ProfiledKernel& kernel) {
  Json json = {{"evaluation", app::evaluation_json(kernel.result)}};
  if (kernel.launches.empty()) {
    json["degradation"] = kernel.profile.degradation;
    return json;
  }
  json["profile"] = profiler::profile_json(kernel.profile, kernel.launches);
  json["profile"]["passes"] = kernel.profile.passes;
  json["profile"]["setup_ms"] = kernel.profile.setup_ms;
  json["profile"]["collect_ms"] = kernel.profile.collect_ms;
  json["analysis"] = profiler::analysis_json(kernel.launches);
  return json;
}

void print(const app::ProfiledKernel& kernel, const app::KernelChoice& choice,
           const ProblemInstance& problem) {
  fmt::print("{}: {}{}\n{}", choice.candidate.name, to_string(kernel.result.outcome.status),
             kernel.result.outcome.message.empty() ? "" : ": " + kernel.result.outcome.message,
             app::evaluation_text(problem, kernel.result));
  if (kernel.launches.empty()) {
    for (const std::string& loss : kernel.profile.degradation) fmt::print("not profiled: {}\n", loss);
    return;
  }
  fmt::print("\n{}", profiler::render_profile(kernel.profile, kernel.launches, choice.candidate.source));
}

int run_profile(const app::Arguments& arguments) {
  CLI::App app{
      "Say what limits a kernel and what could be done: hardware counters and where its warps wait, on a "
      "GPU; exact counts on the CPU device. The kernel is checked and timed first.",
      "alphakernel profile"};
  set_style(
      app,
      "Examples:\n  alphakernel profile softmax.cu\n  alphakernel profile 1234 --compare 1200\n"
      "  alphakernel profile mine.cu --algorithm gemm --shape M=4096,N=4096,K=4096 --metrics full\n"
      "  alphakernel profile mine.cu --algorithm softmax --metrics dram/bytes_read,l2/hit_rate --json\n");
  std::string kernel, other, arch, device, database, metrics = "standard", workload;
  bool json = false, unaudited = false, no_lines = false;
  add_kernel(app, "kernel", kernel);
  app.add_option("--compare", other, "a second kernel for the same problem: what changed from it");
  app.add_option("--workload", workload,
                 "which shape to profile (default: the timed one of the greatest weight)");
  app.add_option("--metrics", metrics, "quick (one pass), standard, full, or names between commas");
  app.add_flag("--no-lines", no_lines, "do not sample where on the source's lines warps wait");
  app.add_option("--arch,--target", arch, "what to compile for (default: native)");
  app.add_option("--device", device, "where to run it: auto, cuda, cuda:N, emulator");
  app.add_option("--db", database, "performance database");
  add_unaudited_flag(app, unaudited);
  app.add_flag("--json", json, "print JSON");

  const app::Config config = app::load_config();
  const std::filesystem::path db_file = named_database(arguments);
  std::optional<app::KernelChoice> choice = named_kernel(app, arguments, db_file);
  const ProblemFlags problem_flags(app, arguments, choice ? choice->problem : "");
  if (!parse(app, arguments)) return 0;
  if (!choice) choice = app::choose_kernel(kernel, db_file);
  const auto wanted = profiler::parse_metrics(metrics);
  if (!wanted) fail(ExitCode::usage, "--metrics: {}", wanted.error().message);
  const auto problem = problem_flags.instance(choice->params);
  const app::Target target =
      app::choose_target(device.empty() ? config.device : device, arch.empty() ? config.arch : arch);
  if (!target.executes())
    fail(ExitCode::usage, "a profile needs a device that runs kernels: {}", target.notice);
  if (!target.notice.empty()) print_stderr("note: {}\n", target.notice);
  app::ProfileOrder order{.problem = problem,
                          .candidate = choice->candidate,
                          .workload = workload,
                          .metrics = wanted.value(),
                          .sample_lines = !no_lines,
                          .command = fmt::format("alphakernel profile {}", fmt::join(arguments, " ")),
                          .audited = app::require_audit(*problem, unaudited, config, db_file)};
  const auto store = db::open_store(db_file);
  const app::ProfiledKernel profiled = app::profile_kernel(order, target, config, *store);
  std::optional<app::ProfiledKernel> before;
  if (!other.empty()) {
    order.candidate = app::choose_kernel(other, db_file).candidate;
    before = app::profile_kernel(order, target, config, *store);
  }
  if (json) {
    Json out = kernel_json(profiled);
    if (before) out["compared_with"] = kernel_json(*before);
    fmt::print("{}\n", out.dump());
  } else {
    print(profiled, *choice, *problem);
    if (before && !before->launches.empty() && !profiled.launches.empty())
      fmt::print("\nFrom {} to {}\n{}", other, kernel,
                 profiler::render_comparison(before->launches, profiled.launches));
  }
  const bool good = !profiled.launches.empty() && (!before || !before->launches.empty());
  return static_cast<int>(good ? ExitCode::ok : ExitCode::no_kernel);
}

}  // namespace

const Verb kProfileVerb{"profile", "say what limits a kernel, with hardware counters and hot lines",
                        run_profile, kJudgeVerbs};

}  // namespace ak::tools
