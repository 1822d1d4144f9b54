// SPDX-License-Identifier: Apache-2.0
#include "app/operations/answer_fields.h"

namespace ak::operations {
namespace {

using Fields = std::vector<Field>;

Fields operator+(Fields left, const Fields& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Field text(std::string_view name, std::string_view help) { return {.name = name, .help = help}; }

Field value(ValueKind kind, std::string_view name, std::string_view help, std::string_view unit = {}) {
  return {.name = name, .kind = kind, .help = help, .unit = unit};
}

Field integer(std::string_view name, std::string_view help, std::string_view unit = {}) {
  return value(ValueKind::integer, name, help, unit);
}

Field number(std::string_view name, std::string_view help, std::string_view unit = {}) {
  return value(ValueKind::number, name, help, unit);
}

Field real(std::string_view name, std::string_view help, std::string_view unit = {}) {
  return value(ValueKind::real, name, help, unit);
}

Field flag(std::string_view name, std::string_view help) { return value(ValueKind::flag, name, help); }

Field object(std::string_view name, std::string_view type, std::string_view help, Fields fields) {
  return {.name = name, .kind = ValueKind::object, .help = help, .type = type, .fields = std::move(fields)};
}

Field list_of(Field field) {
  field.list = true;
  return field;
}

Field maybe(Field field) {
  field.presence = Presence::maybe;
  return field;
}

Field nullable(Field field) {
  field.presence = Presence::nullable;
  return field;
}

Fields all_maybe(Fields fields) {
  for (Field& field : fields) field = maybe(std::move(field));
  return fields;
}

/// A time of a GPU, or a cost of the CPU device: never both under one name.
Fields score_fields() {
  return {
      maybe(real("score_us", "time: weighted geometric mean over the timed shapes", "us")),
      maybe(real("emulated_cost_us", "the same on the CPU device: an estimated cost, not a GPU time", "us"))};
}

Field finding() {
  return object("findings", "Finding", "messages of compilers and checkers, the first ones",
                {text("severity", "error, warning or note"), text("message", "what is wrong"),
                 maybe(integer("line", "of the kernel file, from 1")),
                 maybe(text("source", "that line, or the lines around it")),
                 maybe(value(ValueKind::any, "details", "of the CPU device: docs/device_messages.md"))});
}

Field target() {
  return object("target", "Target", "where it ran",
                {text("arch", "what it was compiled for, e.g. sm_90a"),
                 text("device", "name of the device; none: it was only built"),
                 maybe(text("note", "why it is not the device that was asked for"))});
}

Field failed_check() {
  return object(
      "first_failed", "FailedCheck", "the first checks that failed",
      {text("shape", "name of the shape"), text("distribution", "of the inputs"),
       text("tensor", "the output"), real("max_error", "largest error"),
       real("tolerance", "largest error allowed"), integer("worst_index", "element of the largest error"),
       real("expected", "its right value"), real("got", "its value")});
}

Field measurement() {
  return object(
      "measurements", "Measurement", "times of the timed shapes",
      Fields{text("shape", "name of the shape"), text("what", "kernel, or name of the baseline")} +
          Fields{maybe(real("emulated_cost_us", "cost estimated on the CPU device", "us")),
                 maybe(real("median_us", "median of the samples", "us")),
                 maybe(list_of(real("ci95_us", "its 95 % confidence interval, low and high", "us"))),
                 maybe(flag("warm_l2", "true: timed with a warm L2 cache")),
                 maybe(object("preparation", "Preparation", "of one set of weights, beside the score",
                              {real("us", "how long it took; on the CPU device estimated", "us"),
                               integer("bytes", "of prepared memory")}))});
}

Field kernel_resources() {
  return object("kernels", "KernelResources", "what each kernel needs",
                {text("kernel", "its name"), integer("registers", "of a thread"),
                 integer("static_shared_bytes", "shared memory", "bytes"),
                 integer("spill_bytes", "registers spilled, stores and loads", "bytes"),
                 integer("stack_bytes", "stack of a thread", "bytes")});
}

/// Of an answer in full: `form` says where the record's members are described.
Field record(std::string_view form) { return maybe(value(ValueKind::any, "record", form)); }

constexpr std::string_view kEvaluationRecord =
    "in full: every check, measurement, count and message, times in ns (docs/result_json.md, `best`)";

Fields evaluation_fields() {
  return Fields{text("status", "how it ended: ok, incorrect, compile_error, ..."),
                text("meaning", "that, in words"),
                text("stage", "how far it came"),
                maybe(text("gate", "name of the gate that rejected it")),
                maybe(text("message", "what went wrong")),
                maybe(list_of(finding())),
                target()} +
         score_fields() +
         Fields{object("checks", "Checks", "comparisons with the reference",
                       {integer("passed", "how many passed"), integer("of", "how many were made"),
                        maybe(list_of(failed_check()))}),
                maybe(list_of(measurement())),
                maybe(list_of(kernel_resources())),
                maybe(object(
                    "occupancy", "Occupancy", "resident warps",
                    {number("ratio", "over the most that an SM holds"), text("limiter", "what limits it")})),
                record(kEvaluationRecord),
                maybe(text("page", "in full: the evaluation as text"))};
}

Field gate_promise() {
  return object("gate", "GatePromise", "the gate that rejected it",
                {text("name", "of the gate"), text("promise", "what every accepted kernel keeps")});
}

Field problem_parameter() {
  return object("parameters", "ProblemParameter", "what `params` may choose",
                {text("name", "of the parameter"), text("help", "what it is"),
                 value(ValueKind::any, "default", "its value where none is given"),
                 list_of(value(ValueKind::any, "choices", "the values it may have; none: any")),
                 maybe(integer("minimum", "smallest value")), maybe(integer("maximum", "largest value"))});
}

Field shape() {
  return object("shapes", "Shape", "the problem's shapes",
                {text("name", "of the shape"), value(ValueKind::integers, "axes", "its sizes"),
                 flag("checked", "results are checked on it"), flag("timed", "kernels are timed on it"),
                 flag("on_emulator", "it is small enough for the CPU device")});
}

Field device_facts() {
  return object("gpus", "Gpu", "the GPUs of this machine",
                {text("kind", "cuda"), text("name", "as the driver says it"), text("uuid", "of the GPU"),
                 integer("ordinal", "N of cuda:N"), text("arch", "e.g. sm_90a"),
                 integer("sm_count", "streaming multiprocessors"),
                 integer("max_threads_per_sm", "resident threads at most"),
                 integer("l2_bytes", "L2 cache", "bytes"), integer("memory_bytes", "device memory", "bytes"),
                 integer("shared_bytes_per_block", "shared memory of a block at most", "bytes"),
                 integer("clock_mhz", "SM clock", "MHz"), integer("memory_clock_mhz", "memory clock", "MHz"),
                 integer("memory_bus_bits", "width of the memory bus", "bits"),
                 integer("driver_version", "as cuDriverGetVersion gives it: 13000")});
}

Field bottleneck() {
  return object(
      "bottleneck", "Bottleneck", "what limits the kernel",
      {text("name", "of the rule that holds"), text("title", "in words"),
       text("evidence", "the figures behind it"),
       flag("sure", "false: a guess from the compiler's facts, as nothing was measured"),
       list_of(object("try", "Remedy", "what may help",
                      {text("what", "to do"), number("at_most_times_faster", "the gain it can bring")}))});
}

Field prediction() {
  return object(
      "predictions", "Prediction", "of every timed shape",
      {text("workload", "name of the shape"), number("predicted_ns", "time", "ns"),
       nullable(number("low_ns", "of the interval of the fitted model", "ns")),
       nullable(number("high_ns", "of the interval of the fitted model", "ns")),
       text("limiter", "what limits it there"), number("analytic_ns", "the time before correction", "ns"),
       number("imbalance", "blocks of the busiest SM over the mean"),
       number("launch_ns", "the part of it that launches take", "ns"),
       value(ValueKind::numbers, "terms_ns", "its other parts", "ns"),
       text("knowledge", "what it is based on: count, build or plan"),
       flag("fitted", "a model fitted to measurements corrected it"),
       flag("known_space", "points of this plan were among these measurements"),
       nullable(number("count_check_error", "how far counts are from growing as assumed, as a ratio")),
       nullable(number("measured_ns", "of the same variant, from the database", "ns"))});
}

/// How many blocks an SM holds, of any block.
Fields resident_fields() {
  return {integer("blocks_per_sm", "resident blocks of an SM; 0: it cannot be launched"),
          integer("warps_per_sm", "resident warps of an SM"),
          number("occupancy", "resident warps over the most that an SM holds"),
          list_of(text("limiters", "resources into which no other block fits"))};
}

Fields block_fields() {
  return {integer("threads", "of a block"), integer("registers", "of a thread"),
          integer("shared_bytes", "of a block, static and dynamic", "bytes"),
          integer("barriers", "that a block synchronises with")};
}

Field launch_occupancy() {
  return object(
      "launches", "LaunchOccupancy", "different launches of the kernel; of numbers one",
      Fields{maybe(text("kernel", "as the launch plan names it")),
             maybe(list_of(text("shapes", "names of the shapes that launch it so")))} +
          block_fields() + Fields{integer("dynamic_shared_bytes", "of shared_bytes", "bytes")} +
          resident_fields() +
          Fields{list_of(object("fits", "ResourceFit", "how many blocks fit into each resource of an SM",
                                {text("resource", "its name"), integer("blocks", "how many")})),
                 maybe(object("next", "OccupancyStep",
                              "the smallest change that lets more warps be resident; none: the SM is full",
                              block_fields() + resident_fields())),
                 list_of(object("by_block_size", "SizedOccupancy",
                                "the same registers and shared memory with other sizes of block",
                                Fields{integer("threads", "of a block")} + resident_fields()))});
}

Fields leader_fields() {
  return Fields{integer("variant", "number in the database"), text("template", "name of its file"),
                value(ValueKind::integers, "tunables", "its point")} +
         score_fields() +
         Fields{maybe(real("predicted_us", "predicted for the target, not measured; where it is, it ranks",
                           "us")),
                maybe(real("predicted_low_us", "start of its 90 % interval", "us")),
                maybe(real("predicted_high_us", "end of its 90 % interval", "us"))};
}

}  // namespace

std::vector<Field> list_problems_fields() {
  return {list_of(object("problems", "ProblemSummary", "sorted by name",
                         {text("name", "of the problem"), text("summary", "what it computes"),
                          text("folder", "where it lies"), maybe(text("broken", "why it cannot be used"))}))};
}

std::vector<Field> show_problem_fields() {
  return Fields{text("name", "of the problem"), text("definition_name", "of it under these params"),
                text("summary", "what it computes"), text("folder", "where it lies"),
                value(ValueKind::table, "params", "their values here")} +
         all_maybe({
             list_of(problem_parameter()),
             text("computes", "the formula"),
             value(ValueKind::table, "tensors", "name: input or output, type and shape"),
             list_of(text("constraints", "that sizes satisfy")),
             value(ValueKind::table, "outputs_in_place_of", "outputs that share memory with an input"),
             object("work_of_a_call", "Work", "formulas over the sizes",
                    {text("flops", "operations"), text("bytes_read", "fewest bytes that must be read"),
                     text("bytes_written", "fewest bytes that must be written")}),
             object("checks", "CheckRules", "when a result is right",
                    {number("tolerance_factor", "error allowed, as a multiple of the twin's"),
                     number("tolerance_floor_ulps", "least error that counts for the twin", "ulps"),
                     text("why", "the reason for this tolerance"),
                     flag("may_differ_between_calls", "results need not repeat"),
                     list_of(text("input_distributions", "of the inputs"))}),
             list_of(text("timed_shapes", "the first of those that kernels are timed on")),
             list_of(
                 object("templates", "TemplateFile", "kernels to search",
                        {text("file", "its name in the folder"), integer("bytes", "its length", "bytes")})),
             text("how_to_time", "how a kernel for this is evaluated"),
             text("sections", "what else there is to show"),
             value(ValueKind::any, "definition",
                   "in the form of FlashInfer-Bench, with the reference in Python"),
             list_of(shape()),
             object(
                 "example", "ExampleKernel", "a kernel that passes",
                 {text("problem", "that it is for"), text("file", "its name"), text("source", "its text")}),
             text("contract", "how a kernel file is written"),
         });
}

std::vector<Field> new_problem_fields() {
  return {text("folder", "that was made"), list_of(text("files", "in the folder")),
          list_of(text("to_fill_in", "what the signature does not say, and where it belongs"))};
}

std::vector<Field> run_reference_fields() {
  const auto file = [](std::string_view name, std::string_view help) {
    return list_of(
        object(name, "TensorFile", help,
               {text("name", "of the tensor"), text("dtype", "of the elements in the file"),
                list_of(integer("shape", "sizes of its axes")), text("file", "its name, in the folder"),
                maybe(text("declared_dtype", "of the tensor, where the file is more precise")),
                maybe(real("rms", "root mean square of the result")),
                maybe(real("tolerance", "largest error of an element that is allowed"))}));
  };
  return {text("workload", "name of the shape"), file("inputs", "raw, little-endian, row-major"),
          file("outputs", "raw, little-endian, row-major")};
}

std::vector<Field> show_devices_fields() {
  return all_maybe(
      {list_of(device_facts()), text("no_gpu_because", "why there is no GPU"),
       text("emulator", "what the CPU device is"), list_of(text("archs", "names that arch takes")),
       text("archs_note", "what else it takes"), text("name", "of the device that was asked for"),
       list_of(text("aliases", "its other names")), text("arch", "its most specific target"),
       value(ValueKind::any, "figures", "name: [value, source], docs/devices.md"),
       text("nominal", "of an architecture: the product that stands for it"),
       list_of(value(ValueKind::any, "catalog", "what is known of each device, docs/devices.md"))});
}

std::vector<Field> evaluate_fields() {
  return evaluation_fields() + Fields{text("problem", "the definition it was evaluated for"),
                                      integer("variant", "number in the database"),
                                      maybe(text("next", "how to learn more of the failure"))};
}

std::vector<Field> search_fields() {
  return {text("problem", "the definition that was searched"),
          target(),
          flag("emulated", "it ran on the CPU device: costs are estimates, not GPU times"),
          flag("executed", "false: kernels were built and ranked, not verified"),
          text("stop_reason", "what ended it"),
          flag("interrupted", "it was stopped"),
          integer("search", "number of the search in the database"),
          integer("evaluated", "candidates tried"),
          integer("verified", "of these, those that passed all gates"),
          integer("failed", "of these, those that did not"),
          integer("pruned", "points predicted to be too slow, and not tried"),
          integer("duplicates", "of those tried: the same program as another"),
          integer("reused", "points that earlier searches measured"),
          maybe(number("expected_gain", "what the points left may still gain, a share of the best time")),
          maybe(number("most_gain", "the same, with 95 % confidence at most")),
          number("wall_s", "how long it took", "s"),
          maybe(object("baseline", "Baseline", "the fastest one",
                       {text("name", "of the baseline"), real("time_us", "weighted geometric mean", "us")})),
          maybe(text("ranking", "on the CPU device: what ranked the candidates, and why")),
          maybe(text("held_out", "whether the best kernel is right on shapes drawn at the end")),
          maybe(object("best", "BestKernel", "the champion",
                       leader_fields() + Fields{text("source", "the kernel file, its parameters frozen")})),
          list_of(text("set",
                       "with per_shape: which kernel takes which shape, and how near that is to the best, "
                       "a line each")),
          list_of(object("leaders", "Leader", "the fastest points, best first", leader_fields()))};
}

std::vector<Field> time_baselines_fields() {
  return {text("problem", "its definition"),
          maybe(integer("variant", "number in the database")),
          maybe(object("evaluation", "Evaluation", "where the kernel did not pass its checks",
                       evaluation_fields())),
          list_of(object(
              "turns", "BaselineTurns", "one a shape, baseline and kind of times",
              {text("workload", "name of the shape"), text("baseline", "its name, with the version"),
               text("times", "device (the GPU's work alone) or wall (with the host's part)"),
               real("speedup", "the baseline's time over the kernel's"), real("low", "of its 95 % interval"),
               real("high", "of its 95 % interval"), real("kernel_us", "median", "us"),
               real("baseline_us", "median", "us"), integer("rounds", "independent samples of the ratio"),
               integer("kernel_late", "samples whose launches were not all queued ahead"),
               integer("baseline_late", "the same"),
               nullable(integer("kernel_peak_bytes", "of device memory", "bytes")),
               nullable(integer("baseline_peak_bytes", "the same", "bytes")),
               value(ValueKind::any, "settings", "versions, and whether TF32 was on")})),
          list_of(text("notes", "what was not timed, and why")),
          maybe(text("page", "the turns as text"))};
}

std::vector<Field> profile_fields() {
  return {
      object("evaluation", "Evaluation", "of its checks and times", evaluation_fields()),
      maybe(list_of(text("not_known", "what could not be measured, and why"))),
      maybe(text("shape", "that was profiled")),
      maybe(bottleneck()),
      maybe(text("page", "the profile as a page of text")),
      maybe(text("changed_from_compare_variant", "what differs from the second kernel")),
      record("in full: `profile` with every metric, and `analysis` (docs/profiling.md); of the second kernel "
             "below `compared_with`")};
}

std::vector<Field> predict_fields() {
  return {text("kernel", "its name"),
          text("device", "the GPU"),
          text("model", "name of the fitted model; empty: there is none"),
          text("note", "why less is known than was asked for; empty: nothing is missing"),
          value(ValueKind::any, "training", "what the model was fitted to; null: there is none"),
          list_of(prediction()),
          text("arch", "what it would be compiled for")};
}

std::vector<Field> occupancy_fields() {
  return {
      text("arch", "what it is compiled for"),
      object("sm", "SmLimits", "what an SM has",
             {integer("threads", "resident threads at most"), integer("blocks", "resident blocks at most"),
              integer("registers", "of 32 bits"), integer("shared_bytes", "shared memory", "bytes"),
              integer("shared_bytes_per_block", "shared memory of a block at most", "bytes")}),
      list_of(launch_occupancy())};
}

std::vector<Field> rows_fields() {
  return {list_of(text("columns", "their names")),
          list_of(value(ValueKind::cells, "rows", "a value for each column")),
          flag("complete", "no row was left out"), maybe(text("note", "how to get the rest"))};
}

std::vector<Field> session_fields() {
  return {
      integer("session", "its number"),
      text("name", "its name"),
      text("state", "queued, running, stopped, suspended, finished, failed or killed"),
      text("reason", "what ended it; empty: nothing has"),
      maybe(integer("exit_code", "docs/exit_codes.md")),
      number("spent_s", "of all searches", "s"),
      integer("tokens", "that models used"),
      maybe(number("cost_usd", "of these, where the prices are known", "US dollars")),
      list_of(object("searches", "SessionSearch", "in the order they run",
                     Fields{text("name", "of the search"), text("state", "queued, running, finished, ..."),
                            text("reason", "what ended it; empty: nothing has"),
                            maybe(integer("search", "number in the database")),
                            integer("evaluations", "candidates tried"),
                            integer("verified", "of these, those that passed all gates"),
                            number("spent_s", "so far", "s"),
                            maybe(text("verdict", "how good its result is: at the limit, stuck or budget"))} +
                         score_fields() +
                         Fields{maybe(real("speedup", "times as fast as the baseline")),
                                maybe(text("baseline", "its name")), maybe(real("left_s", "at most", "s"))})),
      record("in full: budgets, baselines, limits and models too, times in ns (docs/sessions.md)"),
      maybe(text("page", "in full: the state as text"))};
}

std::vector<Field> start_session_fields() {
  return session_fields() + Fields{text("log", "the file that it writes what it does to")};
}

std::vector<Field> explain_fields() {
  return Fields{integer("variant", "number in the database"),
                text("problem", "the definition"),
                text("device", "that it was evaluated on"),
                text("arch", "what it was compiled for"),
                text("status", "how its evaluation ended"),
                text("approach", "by what its source and launch plan name")} +
         score_fields() +
         Fields{
             list_of(object("optimisations", "MeasuredOptimisation", "those of which something was measured",
                            {text("name", "of the optimisation"), list_of(integer("lines", "where it is")),
                             list_of(text("evidence", "what was measured"))})),
             list_of(
                 object("tunables", "MeasuredTunable", "those of which something was measured",
                        {text("name", "of the tunable"), list_of(text("evidence", "what was measured"))})),
             list_of(object(
                 "limits", "ShapeLimit", "what limits it, by shape",
                 {text("shape", "name of the shape"), list_of(text("try", "what may help")),
                  maybe(real("time_us", "of a call", "us")),
                  maybe(real("emulated_cost_us", "cost estimated on the CPU device", "us")),
                  maybe(real("floor_us", "minimum time that the device needs", "us")),
                  maybe(text("floor", "that limit in words")),
                  maybe(text("basis",
                             "counters of a GPU, exact counts of the CPU device, or facts of the compiler")),
                  maybe(text("bottleneck", "absent: nothing was measured that would show it")),
                  maybe(text("evidence", "the figures behind it")),
                  maybe(real("at_most_times_faster", "without it")),
                  maybe(text("next", "what limits it then"))})),
             text("page", "all of it as a page"),
             record("in full: the evaluation, lineage, leads and every note, times in ns (docs/explain.md)")};
}

std::vector<Field> compare_fields() {
  return {integer("first", "its variant"),
          integer("second", "its variant"),
          text("why", "which is faster and why, as far as evidence goes"),
          maybe(text("basis", "of the ratio: pairs, medians or estimated costs")),
          maybe(real("second_over_first", "time of the second over that of the first")),
          text("page", "everything that they differ in"),
          record("in full: times, pairs, tunables, launches, resources, counters and the source's difference "
                 "(docs/explain.md)")};
}

std::vector<Field> compare_subjects_fields() {
  const auto side = [](std::string_view name) {
    return object(name, "ComparedSubject", "one of the two",
                  {text("kind", "search, device, model or prompt"), text("name", "of it"),
                   text("is", "that in words")});
  };
  const auto test = [](std::string_view help) {
    return object(
        "test", "PairedTest", help,
        {integer("pairs", "how many there are"), integer("wins", "of the second"),
         integer("losses", "of the second"), integer("ties", "pairs without a difference"),
         nullable(number("ratio", "second over first, geometric mean")),
         nullable(number("low", "of its 99 % interval")), nullable(number("high", "of its 99 % interval")),
         number("sign_p", "probability under chance, by signs"),
         number("signed_rank_p", "the same by Wilcoxon's signed ranks"),
         flag("more_than_chance", "the difference is")});
  };
  return {
      side("first"),
      side("second"),
      text("verdict", "whether the difference is more than chance, in a sentence"),
      text("measure", "gpu_time or estimated_cost"),
      text("pair", "what a pair is; empty: nothing can be paired"),
      maybe(test("of all pairs")),
      list_of(text("notes", "what a reader has to know of it")),
      list_of(object("figures", "ComparedFigure", "other numbers of both",
                     {text("name", "of the figure"), text("unit", "of both numbers"),
                      nullable(number("first", "its number")), nullable(number("second", "its number"))})),
      list_of(object("by_definition", "DefinitionTest", "where there are several definitions",
                     {text("definition", "its name"), test("of its pairs")})),
      list_of(object("pairs", "MatchedPair", "what is the same except for the two",
                     {text("definition", "its name"), text("what", "is the same"),
                      number("first_ns", "time or cost", "ns"), number("second_ns", "time or cost", "ns")})),
      text("page", "all of it as a page")};
}

std::vector<Field> list_experiments_fields() {
  return {
      list_of(object(
          "experiments", "Experiment", "manifests, sorted by name",
          {text("name", "of the experiment"), text("file", "its manifest"),
           text("question", "that it answers"), flag("needs_gpu", "some of its expectations do"),
           list_of(text("runs", "names of its searches")), maybe(text("broken", "why it cannot be run"))})),
      list_of(object("results", "ExperimentResult", "folders of results",
                     {text("folder", "where it lies"), text("experiment", "its name"),
                      text("status", "complete, interrupted, failed, unfinished or unreadable"),
                      flag("finished", "there is a report"), integer("met", "expectations that were met"),
                      integer("missed", "those that were not"),
                      integer("skipped", "those that this device cannot answer")}))};
}

std::vector<Field> list_insights_fields() {
  return {list_of(
      object("insights", "Insight", "those with most comparisons first, unless words are looked for",
             {text("algorithm", "that it is of"), text("arch", "that it holds for"),
              text("device", "that it was seen on"), text("device_kind", "cuda or emulator"),
              text("kind", "of insight"), text("subject", "what it says something of"),
              text("text", "what it says"), text("bottleneck", "that it was tried against"),
              nullable(number("ratio", "what it was worth, as a ratio of times")),
              integer("tries", "how often it was compared"), integer("wins", "how often it was faster"),
              value(ValueKind::any, "evidence", "docs/knowledge.md")}))};
}

std::vector<Field> look_up_best_fields() {
  return Fields{text("note", "how near it is to what was asked for, or that there is none")} +
         all_maybe({flag("exact", "it was measured for this shape on this device"),
                    text("template", "name of its file"), text("source", "hash of its file's text"),
                    value(ValueKind::integers, "tunables", "its point"), number("time_ns", "there", "ns"),
                    flag("emulated", "it is a cost that the CPU device estimated"),
                    flag("confirmed", "it was measured again in a fresh process"),
                    value(ValueKind::integers, "shape", "that it was measured for"),
                    text("device", "that it was measured on"), text("arch", "what it was compiled for"),
                    integer("samples", "how many times it was measured"), text("date", "of the measurement"),
                    value(ValueKind::any, "provenance", "docs/tuning.md")});
}

std::vector<Field> examine_machine_fields() {
  return {flag("usable", "kernels can be built, and the models that were named can be asked"),
          list_of(object("parts", "MachinePart", "what was looked for",
                         {text("part", "its name"), flag("present", "it is there and works"),
                          text("detail", "what was found, or why it was not"),
                          text("cost", "what does not work without it; empty: it is there"),
                          text("remedy", "how to get it; empty: it is there")}))};
}

std::vector<Field> export_kernel_fields() {
  return {text("folder", "that was written"),
          text("name", "of functions and files"),
          text("problem", "the definition"),
          text("arch", "what it is built for"),
          maybe(integer("variant", "number in the database")),
          list_of(text("files", "below the folder")),
          text("note", "how they are used")};
}

std::vector<Field> explain_failure_fields() {
  return all_maybe({integer("evaluation", "number of the evaluation"),
                    integer("variant", "number of the variant"), text("problem", "the definition"),
                    text("device", "that it ran on"), text("status", "how it ended"),
                    text("meaning", "that, in words"), text("stage", "how far it came"), gate_promise(),
                    text("message", "what went wrong"), list_of(finding()),
                    list_of(object("failed_checks", "StoredFailedCheck", "the first of them",
                                   {value(ValueKind::integers, "shape", "its sizes"),
                                    text("distribution", "of the inputs"), text("tensor", "the output"),
                                    nullable(number("max_error", "largest error")),
                                    nullable(number("tolerance", "largest error allowed")),
                                    nullable(integer("worst_index", "element of the largest error")),
                                    nullable(number("expected", "its right value")),
                                    nullable(number("got", "its value"))}))}) +
         Fields{list_of(text("try", "what may help"))};
}

std::vector<Field> show_kernel_fields() {
  return Fields{integer("variant", "number in the database"),
                text("problem", "the definition"),
                text("template", "name of its file"),
                value(ValueKind::integers, "tunables", "its point"),
                flag("verified", "it passed all gates"),
                maybe(text("device", "that its best time is of")),
                maybe(text("arch", "what it was compiled for there"))} +
         score_fields() + Fields{text("source", "the kernel file, its parameters frozen")};
}

std::vector<Field> save_kernel_fields() {
  return {text("path", "the file"),
          integer("bytes", "its length", "bytes"),
          integer("variant", "number in the database"),
          text("problem", "the definition"),
          flag("verified", "it passed all gates"),
          text("note", "how to use the file")};
}

std::span<const Event> all_events() {
  static const std::vector<Event> events{
      {.name = "step", .type = "Step", .help = "what happens now", .fields = {text("what", "in words")}},
      {.name = "progress",
       .type = "Progress",
       .help = "after every evaluation",
       .fields = Fields{integer("evaluated", "candidates tried"), integer("verified", "of these, passed"),
                        integer("failed", "of these, not passed"), integer("in_flight", "being evaluated"),
                        integer("pruned", "points predicted to be too slow, and not tried"),
                        integer("space_points", "points there are"),
                        number("elapsed_s", "since the search began", "s")} +
                 score_fields()},
      {.name = "new_best",
       .type = "NewBest",
       .help = "a verified kernel took the lead",
       .fields =
           Fields{text("template", "name of its file"), value(ValueKind::integers, "tunables", "its point")} +
           score_fields() + Fields{text("source", "the kernel file, its parameters frozen")}}};
  return events;
}

}  // namespace ak::operations
