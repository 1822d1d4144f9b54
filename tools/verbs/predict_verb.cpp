// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/evaluate/figure_texts.h"
#include "tools/kernel_arguments.h"
#include "tools/operation_call.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

std::string time_text(const Json& time_ns) { return app::format_ns(time_ns.get<double>()); }

std::string terms_text(const Json& line) {
  std::string text =
      fmt::format("    analytic {}: launch {}", time_text(line["analytic_ns"]), time_text(line["launch_ns"]));
  for (const auto& [name, time_ns] : line["terms_ns"].items())
    if (time_ns.get<double>() > 0) text += fmt::format(", {} {}", name, time_text(time_ns));
  return text + "\n";
}

/// Of one shape.
std::string line_text(const Json& line) {
  const auto predicted_ns = line["predicted_ns"].get<double>();
  std::string text =
      fmt::format("  {}: {}", line["workload"].get<std::string>(), app::format_ns(predicted_ns));
  if (line["fitted"].get<bool>())
    text += fmt::format(" ({} to {})", time_text(line["low_ns"]), time_text(line["high_ns"]));
  text += fmt::format(", limited by {}", line["limiter"].get<std::string>());
  if (const Json& measured = line["measured_ns"]; !measured.is_null())
    text += fmt::format("; measured {}, error {:+.1f} %", time_text(measured),
                        100 * (predicted_ns / measured.get<double>() - 1));
  text += "\n" + terms_text(line);
  text +=
      fmt::format("    blocks of the busiest SM over the mean: {:.2f}\n", line["imbalance"].get<double>());
  // Past one part in ten a term may be wrong by as much as the intervals allow for.
  if (const Json& check = line["count_check_error"]; !check.is_null() && check.get<double>() > 0.1)
    text += fmt::format("    counts do not grow as assumed (off by {:.0f} % at the largest counted shape)\n",
                        100 * check.get<double>());
  return text;
}

/// What is known of a kernel, by the name of the knowledge.
std::string knowledge_text(const std::string& knowledge) {
  if (knowledge == "count") return "exact counts of reduced shapes and ptxas";
  return knowledge == "build" ? "ptxas, without counts" : "the launch plan alone";
}

/// "gemm 512, softmax 83", the most first.
std::string counts_text(const Json& counts) {
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const auto& [name, count] : counts.items()) sorted.emplace_back(-count.get<std::int64_t>(), name);
  std::ranges::sort(sorted);
  std::vector<std::string> words;
  for (const auto& [negative, name] : sorted) words.push_back(fmt::format("{} {}", name, -negative));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string basis_text(const Json& answer) {
  const Json& line = answer["predictions"][0];
  const std::string from = knowledge_text(line["knowledge"]);
  const Json& training = answer["training"];
  if (!line["fitted"].get<bool>())
    return fmt::format("is based on rates of {} and {}\n", answer["device"].get<std::string>(), from);
  return fmt::format("is based on {}, corrected by {}, fitted to {} variants ({}) on {}; {}\n", from,
                     answer["model"].get<std::string>(), training.at("variants").dump(),
                     counts_text(training.at("variants_by_algorithm")),
                     fmt::join(training.at("devices").get<std::vector<std::string>>(), ", "),
                     line["known_space"].get<bool>()
                         ? "points of this plan are among them"
                         : "none is of this plan, so the interval is that of algorithms left out");
}

void print_prediction(const Json& answer, const std::string& word) {
  fmt::print("{} on {} ({}), predicted:\n", word, answer["device"].get<std::string>(),
             answer["arch"].get<std::string>());
  for (const Json& line : answer["predictions"]) fmt::print("{}", line_text(line));
  fmt::print("{}", basis_text(answer));
  if (const std::string note = answer["note"]; !note.empty()) fmt::print("{}\n", note);
}

int run_predict(const app::Arguments& arguments) {
  CLI::App app{"Predict how long a kernel takes on a GPU that is not here, before running it.",
               "alphakernel predict"};
  set_style(app,
            "Examples:\n  alphakernel predict softmax.cu --arch h200\n"
            "  alphakernel predict mine.cu --algorithm softmax --dtype bf16 --shape M=4096,N=1000 --json\n");
  std::string word, arch_name = "sm_90a", database, model;
  bool json = false, no_counts = false;
  add_kernel(app, "kernel", word);
  app.add_option("--arch,--target", arch_name, "the GPU, e.g. h200 or sm_90a (default: sm_90a)");
  app.add_option("--db", database, "performance database to look up measured times in");
  app.add_option(
      "--time-model", model,
      "name of a shipped model, or file that `alphakernel model fit` wrote; none: rates alone (default: the "
      "user's model of the target, else the shipped one)");
  app.add_flag("--no-counts", no_counts, "do not count on the CPU device: faster, less exact");
  app.add_flag("--json", json, "print JSON");
  std::optional<Json> request = parse_kernel_request(app, arguments, word);
  if (!request) return 0;
  request->update({{"arch", arch_name}, {"counts", !no_counts}});
  add_text(*request, "time_model", model);
  const operations::Answer answer = call_operation("predict", *request, "predict", arguments);
  json ? print_json(answer) : print_prediction(answer.content, word);
  return 0;
}

}  // namespace

const Verb kPredictVerb{"predict", "predict how long a kernel takes on a GPU that is not here", run_predict,
                        kJudgeVerbs};

}  // namespace ak::tools
