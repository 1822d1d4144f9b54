// SPDX-License-Identifier: Apache-2.0
#include "app/board/board_judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "board_python_files.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/hash.h"
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

/// Of a program that ended with a traceback: how it ended, and the last line, which is the reason.
Json failure(std::string why) {
  while (why.ends_with('\n')) why.pop_back();
  if (const auto line = why.rfind('\n'); line != std::string::npos)
    why = fmt::format("{}: {}", why.substr(0, why.find(':')), why.substr(line + 1));
  return {{"failure", sanitize(why, kNoteBytes)}};
}

bool is_time(const Json& value) {
  return value.is_null() ||
         (value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() > 0);
}

/// Nothing in it is trusted.
Json verdict_of(const Json& said) {
  if (!said.is_object()) return failure("its verdict cannot be read");
  const auto member = [&](const char* key) { return said.value(key, Json()); };
  if (const Json gpu = member("other_gpu"); gpu.is_string())
    return {{"other_gpu", sanitize(gpu.get<std::string>(), kNoteBytes)}};
  const Json compiled = member("compiled"), correct = member("correct"), note = member("note");
  const bool readable = compiled.is_boolean() && correct.is_boolean() && is_time(member("time_us")) &&
                        is_time(member("eager_us"));
  if (!readable || (correct.get<bool>() && !compiled.get<bool>()))
    return failure("its verdict cannot be read");
  if (correct.get<bool>() && member("time_us").is_null())
    return failure("it found the kernel right, and did not time it");
  return {{"compiled", compiled},
          {"correct", correct},
          {"time_us", member("time_us")},
          {"eager_us", member("eager_us")},
          {"note", note.is_string() ? sanitize(note.get<std::string>(), kNoteBytes) : ""}};
}

}  // namespace

void require_judge(const fs::path& folder) {
  if (!fs::is_directory(folder)) fail(ExitCode::bad_input, "there is no folder {}", folder.string());
  if (!fs::is_regular_file(folder / "src" / "kernelbench" / "eval.py"))
    fail(ExitCode::bad_input,
         "{} has no src/kernelbench/eval.py: expected a checkout of KernelBench, whose evaluator judges",
         folder.string());
}

Json read_verdict(const Result<std::string>& written, const std::string& word) {
  if (!written) return failure(written.error().message);
  const std::string& text = written.value();
  if (text.empty()) return failure("the judge ended without a verdict");
  const std::string head = fmt::format("{}{} ", kVerdict, word);
  if (!text.starts_with(head) || text.find('\n') != text.size() - 1)
    return failure("what it wrote is not one verdict");
  return verdict_of(try_parse_json(text.substr(head.size(), text.size() - head.size() - 1)));
}

Json judge_model(const fs::path& folder, const fs::path& task, const fs::path& model, const std::string& gpu,
                 const std::string& python, const std::atomic<bool>* stop) {
  const runtime::PythonInstallation installation = runtime::find_python(python);
  const runtime::ScratchFolder scratch;
  const fs::path program = scratch.path() / "judge.py";
  for (const EmbeddedFile& file : board_python_files())
    write_file_atomically(scratch.path() / file.name, std::string(file.text));
  const std::string word = fmt::format("{:02x}", fmt::join(random_uid(), ""));
  Json verdict = read_verdict(
      runtime::output_of({installation.program, "-B", program.string(), fs::absolute(folder).string(),
                          fs::absolute(task).string(), fs::absolute(model).string(), gpu},
                         runtime::python_environment(), kJudgeLimit,
                         {.input = word + "\n", .stop = stop, .last_words = true}),
      word);
  if (verdict.contains("other_gpu"))
    fail(ExitCode::environment, "the judge runs on {} here, and the kernel was searched on {}",
         verdict["other_gpu"].get<std::string>(), gpu);
  return verdict;
}

}  // namespace ak::app
