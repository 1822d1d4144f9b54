// SPDX-License-Identifier: Apache-2.0
#include "app/board/board_judge.h"

#include "board_python_files.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/suggest.h"
#include "runtime/process/program_output.h"
#include "runtime/process/scratch_folder.h"
#include "runtime/reference/python_installation.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

// nvcc takes a minute, the trials seconds; KernelBench's own scripts give up after three to five minutes.
constexpr std::chrono::minutes kJudgeLimit{10};
constexpr std::string_view kVerdict = "JUDGED ";
constexpr std::size_t kNoteBytes = 400;  // what a person reads in a table (chosen)

Json failure(const std::string& why) { return {{"failure", sanitize(why, kNoteBytes)}}; }

/// Nothing in the line is trusted.
Json verdict_of(std::string_view line) {
  const Json said = try_parse_json(line);
  if (!said.is_object() || !said.contains("compiled") || !said.contains("correct") ||
      !said["compiled"].is_boolean() || !said["correct"].is_boolean())
    return failure("its verdict cannot be read");
  const auto number = [&](const char* key) {
    return said.contains(key) && said[key].is_number() ? said[key] : Json();
  };
  return {{"compiled", said["compiled"]},
          {"correct", said["correct"]},
          {"time_us", number("time_us")},
          {"eager_us", number("eager_us")},
          {"note", said.contains("note") && said["note"].is_string()
                       ? sanitize(said["note"].get<std::string>(), kNoteBytes)
                       : ""}};
}

}  // namespace

void require_judge(const fs::path& folder) {
  if (!fs::is_directory(folder)) fail(ExitCode::bad_input, "there is no folder {}", folder.string());
  if (!fs::is_regular_file(folder / "src" / "kernelbench" / "eval.py"))
    fail(ExitCode::bad_input,
         "{} has no src/kernelbench/eval.py: expected a checkout of KernelBench, whose evaluator judges",
         folder.string());
}

Json judge_model(const fs::path& folder, const fs::path& task, const fs::path& model,
                 const std::string& python, const std::atomic<bool>* stop) {
  const runtime::PythonInstallation installation = runtime::find_python(python);
  const runtime::ScratchFolder scratch;
  const fs::path program = scratch.path() / "judge.py";
  for (const EmbeddedFile& file : board_python_files())
    write_file_atomically(scratch.path() / file.name, std::string(file.text));
  std::string verdict;
  const auto ended =
      runtime::output_of({installation.program, "-B", program.string(), fs::absolute(folder).string(),
                          fs::absolute(task).string(), fs::absolute(model).string()},
                         runtime::python_environment(), kJudgeLimit,
                         {.on_line =
                              [&](std::string_view line) {
                                if (line.starts_with(kVerdict)) verdict = line.substr(kVerdict.size());
                              },
                          .stop = stop,
                          .last_words = true});
  if (!verdict.empty()) return verdict_of(verdict);
  return failure(ended ? "the judge ended without a verdict" : ended.error().message);
}

}  // namespace ak::app
