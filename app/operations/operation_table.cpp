// SPDX-License-Identifier: Apache-2.0
// Every operation, with what it takes. answer_fields.cpp has what they answer.
#include <fmt/format.h>

#include <algorithm>

#include "agent/search/strategy.h"
#include "app/operations/answer_fields.h"
#include "app/operations/operation.h"
#include "app/operations/problem_sections.h"
#include "app/operations/request_check.h"
#include "app/setup/option_ranges.h"
#include "core/error.h"
#include "core/text/suggest.h"
#include "db/read/reader.h"

namespace ak::operations {
namespace {

using Parameters = std::vector<Parameter>;

Parameters operator+(Parameters left, const Parameters& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Parameters problem_parameters() {
  return {
      {.name = "problem", .help = "name as list_problems gives it, or the folder of a problem of your own"},
      {.name = "params",
       .kind = ValueKind::table,
       .help = "parameters of the problem, e.g. {\"dtype\": \"bf16\"}; the others take their defaults"}};
}

Parameter shape_parameter() {
  return {.name = "shape",
          .kind = ValueKind::table,
          .help = "one shape instead of the problem's own, e.g. {\"M\": 4096, \"N\": 1000}"};
}

Parameters kernel_parameters() {
  return Parameters{
             {.name = "source", .help = "the kernel file's text; give this, path or variant"},
             {.name = "path", .help = "a kernel file ending in .cu"},
             {.name = "variant", .kind = ValueKind::integer, .help = "number of a variant in the database"}} +
         problem_parameters() + Parameters{shape_parameter()};
}

Parameters device_parameters() {
  return {{.name = "arch", .help = "what to compile for, e.g. sm_90a or h200 (default: the device's own)"},
          {.name = "device",
           .help = "auto (a GPU if there is one, else the CPU device), cuda, cuda:N, emulator (the CPU "
                   "device: checks every access and finds races), none (builds only)"}};
}

Parameter unaudited_parameter() {
  return {.name = "unaudited",
          .kind = ValueKind::flag,
          .help = "use a problem although no audit shows that its checks notice mistakes",
          .fallback = "false"};
}

/// Answers are for models to read; programs that keep them want everything.
Parameter detail_parameter() {
  return {.name = "detail",
          .help = "brief: what a reader needs; full: whole pages, and a record of everything",
          .choices = {"brief", "full"},
          .fallback = "\"brief\""};
}

Parameter count_parameter(std::string_view name, std::string_view help) {
  return {.name = name, .kind = ValueKind::integer, .help = help, .minimum = 1, .maximum = 1e9};
}

/// How a search goes on and when it ends.
Parameters search_course_parameters() {
  return {
      {.name = "strategy",
       .help = "how to choose the next point",
       .choices = agent::strategy_names(),
       .fallback = "\"portfolio\""},
      {.name = "seed",
       .kind = ValueKind::integer,
       .help = "of the search and the inputs (default: random)",
       .minimum = 0,
       .maximum = 9e15},
      count_parameter("max_evaluations", "stop after this many candidates"),
      count_parameter("max_compilations", "stop after this many builds that were not cached"),
      {.name = "max_minutes",
       .kind = ValueKind::number,
       .help = "stop after this much wall time",
       .minimum = 0.001,
       .maximum = 1e6},
      count_parameter("patience", "stop after this many evaluations in a row without a new best"),
      {.name = "stop_when_done",
       .kind = ValueKind::number,
       .help =
           "stop when it is 95 % sure that the best that is left takes less time by at most so many percent",
       .minimum = 0.001,
       .maximum = 100},
      {.name = "target_performance", .help = "stop when reached: 60us, 500TFLOPS, 2000GB/s, 90%sol"},
      {.name = "transfer",
       .kind = ValueKind::flag,
       .help = "begin with what the database knows of other shapes, params and devices",
       .fallback = "true"},
      {.name = "deterministic",
       .kind = ValueKind::flag,
       .help = "one evaluation at a time, all drawn from the seed: on the CPU device "
               "every run of a seed is the same",
       .fallback = "false"},
      unaudited_parameter()};
}

Parameters search_parameters() {
  Parameters all = problem_parameters() + Parameters{shape_parameter()} + device_parameters();
  all.front().required = true;
  return all +
         Parameters{
             {.name = "template", .help = "search only this template of the problem"},
             {.name = "per_shape",
              .kind = ValueKind::flag,
              .help = "tune every timed shape alone, and end with the smallest set of kernels within 2 % "
                      "of these and the rule that picks one by the shape (docs/sets.md)",
              .fallback = "false"},
             {.name = "prepared_copies",
              .kind = ValueKind::integer,
              .help = "copies of prepared weights that the kernels of a set may need",
              .minimum = static_cast<double>(app::kPreparedCopies.min),
              .maximum = static_cast<double>(app::kPreparedCopies.max),
              .fallback = "1"}} +
         search_course_parameters();
}

constexpr Effects kRunsKernels{
    .reads_database = true, .writes_database = true, .uses_device = true, .takes_long = true};

Operation list_problems_row() {
  return {.name = "list_problems",
          .title = "List problems",
          .summary = "The problems there are reference results, shapes and templates for.",
          .answer = list_problems_fields(),
          .run = list_problems};
}

Operation show_problem_row() {
  return {
      .name = "show_problem",
      .title = "Show a problem",
      .summary =
          "What a kernel for this problem computes: tensors, tolerance, timed shapes, parameters, "
          "templates. Read it first. Further sections on demand: the definition with its reference, "
          "all shapes, an example that passes, and the contract: how a kernel file is written.",
      .parameters = problem_parameters() + Parameters{shape_parameter(),
                                                      {.name = "section",
                                                       .help = "what to show; the contract has about 14 kB",
                                                       .choices = problem_sections(),
                                                       .fallback = "\"overview\""}},
      .answer = show_problem_fields(),
      .run = show_problem};
}

Operation new_problem_row() {
  return {
      .name = "new_problem",
      .title = "Make a problem",
      .summary =
          "Makes a problem folder from the signature of your kernel: problem.json, shapes, a reference to "
          "fill in, and the kernel with a launch plan (docs/problem.md).",
      .parameters = {{.name = "folder",
                      .help = "below the working directory; a free name, or an empty folder",
                      .required = true},
                     {.name = "path", .help = "file with your __global__ function", .required = true}},
      .answer = new_problem_fields(),
      .effects = {.writes_files = true},
      .run = new_problem};
}

Operation run_reference_row() {
  return {
      .name = "run_reference",
      .title = "Run the reference",
      .summary =
          "Runs a problem's exact reference on inputs of yours, so that its results can be compared with "
          "known ones. The folder has a file WORKLOAD.given.INPUT.bin for each input (raw, little-endian, "
          "row-major); results are written there.",
      .parameters =
          problem_parameters() +
          Parameters{
              {.name = "workload",
               .help = "name of the shape; may be left out where the problem has one only"},
              {.name = "folder", .help = "with the inputs, below the working directory", .required = true}} +
          device_parameters(),
      .answer = run_reference_fields(),
      .effects = {.writes_files = true, .uses_device = true, .takes_long = true},
      .run = run_reference};
}

Operation show_devices_row() {
  return {.name = "show_devices",
          .title = "Show devices",
          .summary =
              "The GPUs of this machine, or all that is known of one device or architecture, with sources.",
          .parameters = {{.name = "name",
                          .help = "e.g. h200, rtx4090, sm_120a; empty: the GPUs here, and known names"},
                         {.name = "catalog",
                          .kind = ValueKind::flag,
                          .help = "instead: every device that is known, with all that is known of it",
                          .fallback = "false"}},
          .answer = show_devices_fields(),
          .run = show_devices};
}

Operation evaluate_row() {
  return {.name = "evaluate",
          .title = "Evaluate a kernel",
          .summary =
              "Builds a kernel, checks it against the reference on every shape and input "
              "distribution, and times it. Says whether it is right, how fast it is, and where it "
              "failed: gate, line, advice. Stored in the database. Takes seconds to minutes.",
          .parameters = kernel_parameters() + device_parameters() +
                        Parameters{{.name = "depth",
                                    .help = "how far to go: build, check (is it right?), time",
                                    .choices = {"build", "check", "time"},
                                    .fallback = "\"time\""},
                                   unaudited_parameter(),
                                   detail_parameter()},
          .answer = evaluate_fields(),
          .effects = kRunsKernels,
          .run = evaluate};
}

Operation search_row() {
  return {.name = "search",
          .title = "Search for a fast kernel",
          .summary =
              "Finds a fast, verified kernel: proposes points of the problem's templates, builds, "
              "checks and times each, and checks the best one on shapes that no one could know. Stored "
              "in the database. Takes minutes to hours: give a budget. Ended early, it answers with "
              "the best kernel so far.",
          .parameters = search_parameters(),
          .answer = search_fields(),
          .events = {"progress", "new_best"},
          .effects = kRunsKernels,
          .run = search};
}

Operation tune_row() {
  return {.name = "tune",
          .title = "Tune a kernel",
          .summary =
              "Finds the fastest verified point of one kernel's tunables: those that its launch plan lists. "
              "Points that the database knows are not measured again. Give a budget; ended early, it answers "
              "with the best point so far.",
          .parameters = kernel_parameters() + device_parameters() + search_course_parameters() +
                        Parameters{{.name = "fresh",
                                    .kind = ValueKind::flag,
                                    .help = "measure every point, also those that earlier searches measured",
                                    .fallback = "false"}},
          .answer = search_fields(),
          .events = {"progress", "new_best"},
          .effects = kRunsKernels,
          .run = tune};
}

Operation start_session_row() {
  return {
      .name = "start_session",
      .title = "Start a session",
      .summary =
          "Starts a queue of searches that runs on by itself, for hours, with shared budgets and models: a "
          "manifest names them (docs/sessions.md). Everything is checked before anything runs. Kernels are "
          "written below the working directory.",
      .parameters = {{.name = "manifest",
                      .help = "a JSON file: {\"budgets\": {\"max_minutes\": 60}, \"runs\": [{\"algorithm\": "
                              "\"softmax\", \"params\": {\"dtype\": \"bf16\"}}]}",
                      .required = true},
                     {.name = "output_folder",
                      .help = "where kernels go that the manifest gives no place",
                      .fallback = "\".\""}},
      .answer = start_session_fields(),
      .effects = {.reads_database = true,
                  .writes_database = true,
                  .writes_files = true,
                  .uses_device = true,
                  .takes_long = true},
      .run = start_session};
}

Operation session_status_row() {
  return {.name = "session_status",
          .title = "Status of a session",
          .summary = "The state of a session: every search with what it has found, spent and has left.",
          .parameters = {{.name = "session",
                          .kind = ValueKind::integer,
                          .help = "number of the session (default: the latest)"},
                         detail_parameter()},
          .answer = session_fields(),
          .effects = {.reads_database = true},
          .run = session_status};
}

Operation stop_session_row() {
  return {.name = "stop_session",
          .title = "Stop a session",
          .summary =
              "Ends a session cleanly: the search at work ends with its best kernel written. `alphakernel "
              "session resume` continues it.",
          .parameters = {{.name = "session",
                          .kind = ValueKind::integer,
                          .help = "number of the session",
                          .required = true}},
          .answer = session_fields(),
          .effects = {.reads_database = true, .writes_database = true, .takes_long = true},
          .run = stop_session};
}

Operation explain_row() {
  return {
      .name = "explain",
      .title = "Explain a kernel",
      .summary =
          "What a kernel does, which optimisations and tunables were measured and what each is worth, what "
          "limits it, what was checked, and how it was found. From the database; a kernel that was never "
          "evaluated is evaluated first.",
      .parameters =
          kernel_parameters() +
          Parameters{{.name = "device", .help = "evaluate it again on: auto, cuda, cuda:N, emulator"},
                     {.name = "arch", .help = "what to compile for, where something is evaluated"},
                     {.name = "ablate",
                      .kind = ValueKind::flag,
                      .help = "evaluate it with one tunable at a time at its least value, and with "
                              "switches of its text off: what each is worth",
                      .fallback = "false"},
                     unaudited_parameter(),
                     detail_parameter()},
      .answer = explain_fields(),
      .effects = kRunsKernels,
      .run = explain};
}

Operation compare_row() {
  return {
      .name = "compare",
      .title = "Compare two kernels",
      .summary =
          "What two kernels for one problem differ in - times, source, tunables, launches, resources, "
          "counters - and why one is faster, as far as evidence goes. From the database, or measured now "
          "where a device is named: on a GPU alternately.",
      .parameters =
          Parameters{
              {.name = "first",
               .help = "number of a variant, digits of its key, search:NUMBER, a .cu file or a k.result.json",
               .required = true},
              {.name = "second", .help = "the other one, named in the same way", .required = true}} +
          problem_parameters() + Parameters{shape_parameter()} +
          Parameters{{.name = "device", .help = "evaluate both now on: auto, cuda, cuda:N, emulator"},
                     {.name = "arch", .help = "what to compile for, where something is evaluated"},
                     unaudited_parameter(),
                     detail_parameter()},
      .answer = compare_fields(),
      .effects = kRunsKernels,
      .run = compare};
}

Operation compare_subjects_row() {
  const std::string_view forms =
      "search:NUMBER, device:NAME, model:NAME or prompt:VERSION; part of a name will do";
  return {.name = "compare_subjects",
          .title = "Compare two searches, devices, models or prompts",
          .summary =
              "Compares two of one kind by pairs of what is the same except for them, and says whether the "
              "difference is more than chance. From the database.",
          .parameters = {{.name = "first", .help = forms, .required = true},
                         {.name = "second", .help = "the other one, of the same kind", .required = true},
                         {.name = "form",
                          .help = "of the page",
                          .choices = {"text", "markdown"},
                          .fallback = "\"text\""}},
          .answer = compare_subjects_fields(),
          .effects = {.reads_database = true},
          .run = compare_subjects};
}

Operation profile_row() {
  return {.name = "profile",
          .title = "Profile a kernel",
          .summary =
              "What limits a kernel and what could be done: hardware counters and hot lines on a GPU, "
              "exact counts on the CPU device. It is checked and timed first.",
          .parameters = kernel_parameters() + device_parameters() +
                        Parameters{{.name = "workload",
                                    .help = "name of the shape to profile (default: the timed one)"},
                                   {.name = "metrics",
                                    .help = "quick, standard, full, or names between commas",
                                    .fallback = "\"standard\""},
                                   {.name = "compare_variant",
                                    .kind = ValueKind::integer,
                                    .help = "a second kernel: what changed from it"},
                                   {.name = "compare_path", .help = "the same, of a file ending in .cu"},
                                   {.name = "lines",
                                    .kind = ValueKind::flag,
                                    .help = "sample where on the source's lines warps wait",
                                    .fallback = "true"},
                                   unaudited_parameter(),
                                   detail_parameter()},
          .answer = profile_fields(),
          .effects = kRunsKernels,
          .run = profile};
}

Operation time_baselines_row() {
  return {
      .name = "time_baselines",
      .title = "Time a kernel in turns with baselines",
      .summary =
          "How many times as fast as PyTorch and the vendor's libraries a kernel is, each ratio with a 95 % "
          "interval: both are timed in turns on a GPU. It is checked and timed first. Takes minutes.",
      .parameters = kernel_parameters() + device_parameters() +
                    Parameters{{.name = "baselines",
                                .help = "of PyTorch, with commas between: eager, compile, max-autotune, "
                                        "cublaslt, cudnn, self; empty: none",
                                .fallback = "\"eager,compile,max-autotune\""},
                               {.name = "libraries",
                                .kind = ValueKind::flag,
                                .help = "those that the problem names, too",
                                .fallback = "true"},
                               {.name = "workload", .help = "only this shape (default: every timed one)"},
                               {.name = "rounds",
                                .kind = ValueKind::integer,
                                .help = "with PyTorch (default: 24)",
                                .minimum = 2,
                                .maximum = 1000},
                               {.name = "rehearse",
                                .kind = ValueKind::flag,
                                .help = "without a GPU: PyTorch on both sides; nothing is stored",
                                .fallback = "false"},
                               unaudited_parameter()},
      .answer = time_baselines_fields(),
      .events = {"step"},
      .effects = kRunsKernels,
      .run = time_baselines};
}

Operation predict_row() {
  return {
      .name = "predict",
      .title = "Predict a time",
      .summary =
          "How long a kernel takes on a GPU that is not here, and what limits it there; of every "
          "timed shape.",
      .parameters =
          kernel_parameters() +
          Parameters{{.name = "arch", .help = "the GPU, e.g. h200 or sm_90a", .fallback = "\"sm_90a\""},
                     {.name = "time_model",
                      .help = "name of a shipped model, or a file of one; none: rates alone (default: the "
                              "user's model of the target, else the shipped one)"},
                     {.name = "counts",
                      .kind = ValueKind::flag,
                      .help = "count on the CPU device: slower, more exact",
                      .fallback = "true"}},
      .answer = predict_fields(),
      .effects = {.reads_database = true, .takes_long = true},
      .run = predict};
}

Parameter number_of_block(std::string_view name, std::string_view help, double minimum, double maximum) {
  return {.name = name, .kind = ValueKind::integer, .help = help, .minimum = minimum, .maximum = maximum};
}

Operation occupancy_row() {
  const Parameter shared = number_of_block(
      "shared_bytes", "shared memory of a block, with threads; 0 where not given", 0, 1 << 20);
  return {
      .name = "occupancy",
      .title = "Show the occupancy",
      .summary =
          "How many blocks of a kernel an SM holds, what limits that, and what one more would need; for "
          "every size of block. Of a kernel, which is compiled, or of threads, registers and shared_bytes.",
      .parameters = kernel_parameters() +
                    Parameters{{.name = "arch", .help = "e.g. h200 or sm_70 (default: the device's own)"},
                               number_of_block("threads", "of a block, instead of a kernel", 1, 2048),
                               number_of_block("registers", "of a thread, with threads", 1, 255),
                               shared},
      .answer = occupancy_fields(),
      .effects = {.reads_database = true, .takes_long = true},
      .run = occupancy};
}

Operation list_experiments_row() {
  return {.name = "list_experiments",
          .title = "List experiments",
          .summary =
              "The experiments that are known, and the folders of results there are (docs/experiments.md).",
          .answer = list_experiments_fields(),
          .run = list_experiments};
}

Operation query_row() {
  return {.name = "query",
          .title = "Query the database",
          .summary =
              "One SELECT on the performance database, read-only. Views: leaderboard, best_variants, "
              "failures, benchmark_results, progress, profiles, generalisation, comparisons, "
              "prediction_errors. SELECT name, sql FROM sqlite_schema shows everything.",
          .parameters = {{.name = "sql", .help = "the SELECT", .required = true},
                         {.name = "limit",
                          .kind = ValueKind::integer,
                          .help = "rows at most",
                          .minimum = 1,
                          .maximum = 1'000'000,
                          .fallback = "50"},
                         {.name = "max_bytes",
                          .kind = ValueKind::integer,
                          .help = "of all rows at most; what follows is left out",
                          .minimum = 1000,
                          .maximum = 32e6,
                          .fallback = "30000"},
                         {.name = "cell_bytes",
                          .kind = ValueKind::integer,
                          .help = "of a text at most; the rest is cut off",
                          .minimum = 100,
                          .maximum = 4e6,
                          .fallback = "8000"}},
          .answer = rows_fields(),
          .effects = {.reads_database = true},
          .run = query_database};
}

Operation best_variants_row() {
  return {.name = "best_variants",
          .title = "Best variants",
          .summary =
              "The fastest verified kernels in the database, for each definition, device, architecture "
              "and set of shapes.",
          .parameters = {{.name = "problem", .help = "only of this problem"},
                         {.name = "arch", .help = "only of this architecture, e.g. sm_90a"},
                         {.name = "device_kind",
                          .help = "cuda: GPU times; emulator: costs estimated on the CPU",
                          .choices = {"cuda", "emulator"}},
                         {.name = "limit",
                          .kind = ValueKind::integer,
                          .help = "variants of each",
                          .minimum = 1,
                          .maximum = 50,
                          .fallback = "3"}},
          .answer = rows_fields(),
          .effects = {.reads_database = true},
          .run = best_variants};
}

Operation explain_failure_row() {
  return {
      .name = "explain_failure",
      .title = "Explain a failure",
      .summary =
          "Why a kernel failed: the gate and what it promises, the findings with their lines, the "
          "checks that failed, and what to try.",
      .parameters = {{.name = "variant",
                      .kind = ValueKind::integer,
                      .help = "number of a variant: its latest failure"},
                     {.name = "evaluation", .kind = ValueKind::integer, .help = "number of an evaluation"},
                     {.name = "gate", .help = "name of a gate, e.g. race_detector: what it is for"}},
      .answer = explain_failure_fields(),
      .effects = {.reads_database = true},
      .run = explain_failure};
}

Operation look_up_best_row() {
  return {.name = "look_up_best",
          .title = "Look up the best point",
          .summary =
              "The best known point for a shape and a device, from a file of best points "
              "(`alphakernel best export`, docs/tuning.md): the nearest that is valid there.",
          .parameters =
              Parameters{{.name = "file", .help = "a file of best points", .required = true},
                         {.name = "product", .help = "the device, e.g. h200 or sm_90a", .required = true},
                         {.name = "emulated",
                          .kind = ValueKind::flag,
                          .help = "the CPU device of this architecture, whose costs are estimates",
                          .fallback = "false"}} +
              problem_parameters() + Parameters{shape_parameter()},
          .answer = look_up_best_fields(),
          .run = look_up_best};
}

Operation examine_machine_row() {
  return {.name = "examine_machine",
          .title = "Examine this machine",
          .summary =
              "What AlphaKernel finds of what it uses: driver, compiler, sandbox, counters, Python, disk, "
              "templates, models; what is missing, what that costs and how to get it.",
          .parameters = {{.name = "models",
                          .help = "names between commas: their providers are asked about them"}},
          .answer = examine_machine_fields(),
          .effects = {.takes_long = true},
          .run = examine_machine};
}

Operation list_insights_row() {
  return {
      .name = "list_insights",
      .title = "List insights",
      .summary =
          "What earlier searches learned: what tunables, templates and features of sources were worth, with "
          "how many comparisons are behind it (docs/knowledge.md).",
      .parameters = {{.name = "algorithm", .help = "of this algorithm alone"},
                     {.name = "arch", .help = "for this target alone: sm_90a, h200, ..."},
                     {.name = "words", .help = "what matches these words, best first"},
                     {.name = "bottleneck", .help = "what was tried against this bottleneck"},
                     {.name = "limit",
                      .kind = ValueKind::integer,
                      .help = "at most this many; 0: all",
                      .minimum = 0,
                      .maximum = 1'000'000,
                      .fallback = "50"}},
      .answer = list_insights_fields(),
      .effects = {.reads_database = true},
      .run = list_insights};
}

Operation show_kernel_row() {
  return {
      .name = "show_kernel",
      .title = "Show a kernel",
      .summary =
          "A kernel of the database with its source, parameters frozen. A variant, or the fastest verified "
          "one for a problem.",
      .parameters = Parameters{{.name = "variant",
                                .kind = ValueKind::integer,
                                .help = "number of the variant; none: the fastest for problem and params"},
                               {.name = "arch", .help = "fastest on this architecture, e.g. sm_90a"}} +
                    problem_parameters(),
      .answer = show_kernel_fields(),
      .effects = {.reads_database = true},
      .run = show_kernel};
}

Operation save_kernel_row() {
  return {
      .name = "save_kernel",
      .title = "Save a kernel",
      .summary =
          "Writes a kernel of the database to a file below the working directory, with its "
          "parameters frozen: it compiles with plain nvcc, too. A variant, or the fastest verified "
          "one for a problem.",
      .parameters = Parameters{{.name = "path",
                                .help = "the file, ending in .cu; its folder has to be there",
                                .required = true},
                               {.name = "variant",
                                .kind = ValueKind::integer,
                                .help = "number of the variant; none: the fastest for problem and params"},
                               {.name = "arch", .help = "fastest on this architecture, e.g. sm_90a"},
                               {.name = "overwrite",
                                .kind = ValueKind::flag,
                                .help = "replace a file that is there",
                                .fallback = "false"}} +
                    problem_parameters(),
      .answer = save_kernel_fields(),
      .effects = {.reads_database = true, .writes_files = true},
      .run = save_kernel};
}

Operation export_kernel_row() {
  return {
      .name = "export_kernel",
      .title = "Export a kernel",
      .summary =
          "Writes a kernel as a folder that is used without AlphaKernel: a launch function for C++, a "
          "CMake project with a benchmark that checks it, PyTorch operators, and a README with what was "
          "measured. A kernel that is known to be wrong is refused.",
      .parameters =
          Parameters{{.name = "folder",
                      .help = "below the working directory; a free name, or an empty folder",
                      .required = true},
                     {.name = "variant",
                      .kind = ValueKind::integer,
                      .help = "number of the variant; none: the fastest for problem and params"},
                     {.name = "path", .help = "instead of a variant, a kernel file ending in .cu"},
                     {.name = "device", .help = "fastest on the device of this name, or part of it"},
                     {.name = "arch", .help = "what it is built for (default: what it was evaluated for)"},
                     {.name = "format",
                      .help = "kernelbench: only model_new.py, for problems made from KernelBench's tasks",
                      .choices = {"folder", "kernelbench"},
                      .fallback = "\"folder\""},
                     {.name = "name",
                      .help = "of files, functions, CMake target, Python package and namespace of operators "
                              "(default: the definition's)"},
                     {.name = "overwrite",
                      .kind = ValueKind::flag,
                      .help = "write into a folder that is not empty",
                      .fallback = "false"}} +
          problem_parameters(),
      .answer = export_kernel_fields(),
      .effects = {.reads_database = true, .writes_files = true},
      .run = export_kernel};
}

}  // namespace

std::span<const Operation> all_operations() {
  static const std::vector<Operation> table{
      list_problems_row(),   show_problem_row(),     new_problem_row(),      run_reference_row(),
      show_devices_row(),    evaluate_row(),         search_row(),           tune_row(),
      start_session_row(),   session_status_row(),   stop_session_row(),     explain_row(),
      compare_row(),         compare_subjects_row(), time_baselines_row(),   profile_row(),
      predict_row(),         occupancy_row(),        list_experiments_row(), examine_machine_row(),
      query_row(),           best_variants_row(),    look_up_best_row(),     list_insights_row(),
      explain_failure_row(), show_kernel_row(),      save_kernel_row(),      export_kernel_row()};
  return table;
}

const Operation* find_operation(std::string_view name) {
  const auto operations = all_operations();
  const auto found = std::ranges::find(operations, name, &Operation::name);
  return found == operations.end() ? nullptr : &*found;
}

const Operation& operation_named(std::string_view name) {
  if (const Operation* found = find_operation(name)) return *found;
  std::vector<std::string> names;
  for (const Operation& each : all_operations()) names.emplace_back(each.name);
  fail(ExitCode::usage, "there is no operation '{}'{}; known: {}", sanitize(name, 80),
       did_you_mean(name, names), fmt::join(names, ", "));
}

std::string command_of(const Context& context, std::string_view asked) {
  return context.command.empty() ? fmt::format("{}: {}", context.caller, asked) : context.command;
}

Answer call(const Operation& operation, const Json& request, const Context& context,
            const Callbacks& callbacks) {
  if (const std::string wrong = request_error(operation.name, operation.parameters, request); !wrong.empty())
    fail(ExitCode::usage, "{}", wrong);
  return operation.run(with_fallbacks(operation, request), context, callbacks);
}

}  // namespace ak::operations
