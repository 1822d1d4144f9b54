// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "serve/mcp/tool.h"

namespace ak::mcp {
namespace {

using Parameters = std::vector<Parameter>;

Parameters operator+(Parameters left, const Parameters& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Parameters problem_parameters() {
  return {
      {"problem", ValueKind::text, "name as list_problems gives it, or the folder of a problem of your own"},
      {"params", ValueKind::table,
       "parameters of the problem, e.g. {\"dtype\": \"bf16\"}; the others take their defaults"}};
}

Parameter shape_parameter() {
  return {"shape", ValueKind::table,
          "one shape instead of the problem's own, e.g. {\"M\": 4096, \"N\": 1000}"};
}

Parameters kernel_parameters() {
  return Parameters{{"source", ValueKind::text, "the kernel file's text; give this, path or variant"},
                    {"path", ValueKind::text, "a kernel file ending in .cu"},
                    {"variant", ValueKind::integer, "number of a variant in the database"}} +
         problem_parameters() + Parameters{shape_parameter()};
}

Parameters device_parameters() {
  return {{"arch", ValueKind::text, "what to compile for, e.g. sm_90a or h200 (default: the device's own)"},
          {"device", ValueKind::text,
           "auto (a GPU if there is one, else the CPU device), cuda, cuda:N, emulator (the CPU device: "
           "checks every "
           "access and finds races), none (builds only)"}};
}

Parameter wait_parameter() {
  return {
      "wait_s", ValueKind::number, "seconds to wait before the answer is a job (default 10)", false, {}, 0,
      600};
}

Parameters job_parameters() {
  return {
      {"unaudited", ValueKind::flag, "use a problem although no audit shows that its checks notice mistakes"},
      wait_parameter()};
}

const Parameter kJob{"job", ValueKind::text, "name of the job, e.g. job-1", true};

std::vector<Tool> make_table() {
  return {
      {.name = "list_problems",
       .title = "List problems",
       .description = "The problems there are reference results, shapes and templates for.",
       .run = list_problems},
      {.name = "show_problem",
       .title = "Show a problem",
       .description =
           "What a kernel for this problem computes: tensors, reference, tolerance, shapes, parameters; how "
           "a "
           "kernel file is written (the candidate contract); and an example that works. Read it first.",
       .parameters = problem_parameters() +
                     Parameters{shape_parameter(),
                                {"contract", ValueKind::flag,
                                 "with the text of the candidate contract, about 14 kB (default true)"}},
       .run = show_problem},
      {.name = "show_devices",
       .title = "Show devices",
       .description =
           "The GPUs of this machine, or all that is known of one device or architecture, with sources.",
       .parameters = {{"name", ValueKind::text,
                       "e.g. h200, rtx4090, sm_120a; empty: the GPUs here, and known names"}},
       .run = show_devices},
      {.name = "evaluate",
       .title = "Evaluate a kernel",
       .description =
           "Builds a kernel, checks it against the reference on every shape and input distribution, and "
           "times "
           "it. Says whether it is right, how fast it is, and where it failed: gate, line, advice. Stored in "
           "the database. Takes seconds to minutes: then the answer is a job.",
       .parameters = kernel_parameters() + device_parameters() +
                     Parameters{{"depth",
                                 ValueKind::text,
                                 "how far to go: build, check (is it right?), time (default)",
                                 false,
                                 {"build", "check", "time"}}} +
                     job_parameters(),
       .lane = Lane::job,
       .read_only = false,
       .run = evaluate},
      {.name = "profile",
       .title = "Profile a kernel",
       .description = "What limits a kernel and what could be done: hardware counters and hot lines on a "
                      "GPU, exact counts "
                      "on the CPU device. It is checked and timed first.",
       .parameters =
           kernel_parameters() + device_parameters() +
           Parameters{
               {"workload", ValueKind::text, "name of the shape to profile (default: the timed one)"},
               {"metrics", ValueKind::text, "quick, standard (default), full, or names between commas"},
               {"compare_variant", ValueKind::integer, "a second kernel: what changed from it"}} +
           job_parameters(),
       .lane = Lane::job,
       .read_only = false,
       .run = profile},
      {.name = "predict",
       .title = "Predict a time",
       .description = "How long a kernel takes on a GPU that is not here, and what limits it there; of every "
                      "timed shape.",
       .parameters = kernel_parameters() +
                     Parameters{{"arch", ValueKind::text, "the GPU, e.g. h200 or sm_90a (default: sm_90a)"},
                                wait_parameter()},
       .lane = Lane::job,
       .run = predict},
      {.name = "job_status",
       .title = "Status of jobs",
       .description = "State of a job, or of all jobs of this connection, without waiting.",
       .parameters = {{"job", ValueKind::text, "name of the job; none: all of them"}},
       .lane = Lane::server},
      {.name = "job_result",
       .title = "Result of a job",
       .description = "Waits for a job and answers what its tool answers; still a job when it takes longer.",
       .parameters = {kJob, {"wait_s", ValueKind::number, "seconds to wait (default 30)", false, {}, 0, 600}},
       .lane = Lane::server},
      {.name = "job_cancel",
       .title = "Cancel a job",
       .description = "Stops a job at once; it gives no answer then.",
       .parameters = {kJob},
       .lane = Lane::server,
       .read_only = false},
      {.name = "query",
       .title = "Query the database",
       .description =
           "One SELECT on the performance database, read-only. Views: leaderboard, best_variants, failures, "
           "benchmark_results, progress, profiles, generalisation, comparisons, prediction_errors. "
           "SELECT name, sql FROM sqlite_schema shows everything.",
       .parameters = {{"sql", ValueKind::text, "the SELECT", true},
                      {"limit", ValueKind::integer, "rows at most (default 50)", false, {}, 1, 1000}},
       .run = query_database},
      {.name = "best_variants",
       .title = "Best variants",
       .description =
           "The fastest verified kernels in the database, for each definition, device and architecture.",
       .parameters = {{"problem", ValueKind::text, "only of this problem"},
                      {"arch", ValueKind::text, "only of this architecture, e.g. sm_90a"},
                      {"device_kind",
                       ValueKind::text,
                       "cuda: GPU times; emulator: costs estimated on the CPU",
                       false,
                       {"cuda", "emulator"}},
                      {"limit", ValueKind::integer, "variants of each (default 3)", false, {}, 1, 50}},
       .run = best_variants},
      {.name = "explain_failure",
       .title = "Explain a failure",
       .description = "Why a kernel failed: the gate and what it promises, the findings with their lines, "
                      "the checks that "
                      "failed, and what to try.",
       .parameters = {{"variant", ValueKind::integer, "number of a variant: its latest failure"},
                      {"evaluation", ValueKind::integer, "number of an evaluation"},
                      {"gate", ValueKind::text, "name of a gate, e.g. race_detector: what it is for"}},
       .run = explain_failure},
      {.name = "save_kernel",
       .title = "Save a kernel",
       .description =
           "Writes a kernel of the database to a file below the working directory, with its parameters "
           "frozen: "
           "it compiles with plain nvcc, too. A variant, or the fastest verified one for a problem.",
       .parameters =
           Parameters{{"path", ValueKind::text, "the file, ending in .cu; its folder has to be there", true},
                      {"variant", ValueKind::integer,
                       "number of the variant; none: the fastest for problem and params"},
                      {"arch", ValueKind::text, "fastest on this architecture, e.g. sm_90a"},
                      {"overwrite", ValueKind::flag, "replace a file that is there (default false)"}} +
           problem_parameters(),
       .read_only = false,
       .overwrites = true,
       .run = save_kernel},
  };
}

}  // namespace

std::span<const Tool> all_tools() {
  static const std::vector<Tool> table = make_table();
  return table;
}

const Tool* find_tool(std::string_view name) {
  const auto tools = all_tools();
  const auto found = std::ranges::find(tools, name, &Tool::name);
  return found == tools.end() ? nullptr : &*found;
}

}  // namespace ak::mcp
