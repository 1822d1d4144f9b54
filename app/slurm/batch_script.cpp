// SPDX-License-Identifier: Apache-2.0
#include "app/slurm/batch_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "app/setup/program_paths.h"
#include "core/error.h"
#include "core/text/suggest.h"

namespace ak::app {
namespace {

/// An option of sbatch that a session's job cannot have. Its short form may have its value at once.
struct RefusedOption {
  std::string_view name, short_name, why;
};
constexpr std::array kRefused{
    RefusedOption{"--array", "-a", "give alphakernel's own --array, before --"},
    RefusedOption{"--wrap", "", "the session has a script of its own"},
    RefusedOption{"--wait", "-W", "session status --watch waits for a session"},
    RefusedOption{"--test-only", "", "--dry-run shows what would be submitted"},
    RefusedOption{"--clusters", "-M", "squeue and scancel are asked of the cluster of this machine"},
    RefusedOption{"--output", "-o", "session log shows the job's output"},
    RefusedOption{"--error", "-e", "session log shows the job's output"},
};

/// Long names may be cut as long as they are one option's alone.
bool is_option(std::string_view word, const RefusedOption& option) {
  if (!word.starts_with("--")) return !option.short_name.empty() && word.starts_with(option.short_name);
  constexpr std::size_t kShortestName = 3;
  const std::string_view name = word.substr(0, word.find('='));
  return name.size() >= kShortestName && option.name.starts_with(name);
}

/// The notice goes to the script, which is the session's own process; other processes do not know what it means.
void check_signal(const std::vector<std::string>& options) {
  constexpr std::string_view kName = "--signal";
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string_view word = options[i];
    if (word.substr(0, word.find('=')) != kName) continue;
    const std::string_view value = word.size() > kName.size() ? word.substr(kName.size() + 1)
                                   : i + 1 < options.size()   ? std::string_view(options[i + 1])
                                                              : std::string_view();
    if (!value.starts_with("B:USR1@"))
      fail(ExitCode::usage, "sbatch's option --signal={}: expected --signal=B:USR1@SECONDS",
           sanitize(value, 60));
  }
}

/// sbatch reads a line of its options as a shell would, and no further than to the end of the line.
void check_quotable(std::string_view text, std::string_view what) {
  const bool fits = std::ranges::none_of(
      text, [](unsigned char c) { return c < ' ' || c == 0x7f || c == '"' || c == '\\'; });
  if (!fits)
    fail(ExitCode::usage,
         "{} '{}': a batch script cannot have quotation marks, backslashes or control characters there", what,
         sanitize(text, 200));
}

std::string quoted_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@%^*[]";
  return word.find_first_not_of(kPlain) == std::string_view::npos ? std::string(word)
                                                                  : fmt::format("\"{}\"", word);
}

/// For sh: within '...' only ' itself has a meaning.
std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

/// A file's name for sbatch, which takes %j and the like for patterns.
std::string file_pattern(const std::filesystem::path& file) {
  check_quotable(file.string(), "the database's folder");
  std::string pattern;
  for (const char c : file.string()) pattern += c == '%' ? std::string("%%") : std::string(1, c);
  return pattern;
}

/// The lines that sbatch reads. @param title,name of the job @param output in quotation marks as file_pattern() makes it
std::string header_of(std::string_view title, std::string_view name, std::string_view output,
                      std::string_view array, const std::vector<std::string>& options) {
  check_sbatch_options(options);
  std::string header = fmt::format(
      "#!/bin/sh\n"
      "# {}.\n"
      "#SBATCH {}\n"
      "#SBATCH --output=\"{}\" --open-mode=append\n"
      "{}"
      "#SBATCH --requeue\n"
      "#SBATCH --signal=B:USR1@{}\n",
      title, quoted_word(fmt::format("--job-name=alphakernel-{}", name)), output, array, kNotice_s);
  if (options.empty()) return header;
  header += "#SBATCH";
  for (const std::string& word : options) header += " " + quoted_word(word);
  return header + "\n";
}

}  // namespace

void check_sbatch_options(const std::vector<std::string>& options) {
  if (!options.empty() && !options.front().starts_with('-'))
    fail(ExitCode::usage, "'{}': expected an option of sbatch after --, such as --nodes=4",
         sanitize(options.front(), 60));
  for (const std::string& word : options) {
    check_quotable(word, "the option of sbatch");
    for (const RefusedOption& option : kRefused)
      if (is_option(word, option)) fail(ExitCode::usage, "sbatch's option {}: {}", option.name, option.why);
  }
  check_signal(options);
}

std::string batch_script(const BatchJob& job) {
  const std::string title =
      fmt::format("Session {} of {}, as a job of Slurm: the search and the workers that it evaluates with",
                  job.session, sanitize(job.database.string()));
  return header_of(title, std::to_string(job.session), file_pattern(job.log), "", job.options) +
         fmt::format("exec {} session job {} --device={} --db={}\n", shell_word(worker_command().front()),
                     job.session, to_string(job.kind), shell_word(job.database.string()));
}

std::string batch_script(const BatchArray& array) {
  const std::string title =
      fmt::format("Sessions of the databases 1.db to {}.db in {}, each as a job of Slurm", array.size,
                  sanitize(array.folder.string()));
  const std::string jobs = fmt::format("#SBATCH --array=1-{}{}\n", array.size,
                                       array.at_once > 0 ? fmt::format("%{}", array.at_once) : "");
  return header_of(title, array.folder.filename().string(),
                   file_pattern(array.folder) + "/%a.db-session-1.log", jobs, array.options) +
         fmt::format("exec {} session job 1 --array --device={} --db={}\"/$SLURM_ARRAY_TASK_ID.db\"\n",
                     shell_word(worker_command().front()), to_string(array.kind),
                     shell_word(array.folder.string()));
}

}  // namespace ak::app
