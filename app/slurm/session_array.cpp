// SPDX-License-Identifier: Apache-2.0
#include "app/slurm/session_array.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "app/session/session_manifest.h"
#include "app/session/session_process.h"
#include "app/slurm/session_job.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/suggest.h"
#include "db/store/session_store.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr RowId kOnlySession = 1;  // of a job's database

/// A whole text that is a number from 1 to as many jobs as an array may have.
std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number < 1 || number > kMostArrayJobs ? std::nullopt : std::optional(number);
}

fs::path array_folder(const fs::path& database, int number) {
  return database.string() + fmt::format("-array-{}", number);
}

SessionArray array_of(const fs::path& database, int number) {
  SessionArray found{.number = number, .folder = array_folder(database, number), .size = 0};
  std::error_code none;
  while (fs::exists(found.database(found.size + 1), none)) ++found.size;
  return found;
}

/// Where a path leads to below a folder that is next to it.
std::string below(const std::string& path, const std::string& folder) {
  return (fs::path(path).parent_path() / folder / fs::path(path).filename()).string();
}

/// An option of `generate` with a path that is written; `name` is the long form, the only one that "=" may follow.
struct OutputFlag {
  const char *flag, *name;
};
constexpr std::array kOutputFlags{OutputFlag{"--output", "--output"}, OutputFlag{"-o", "--output"},
                                  OutputFlag{"--record", "--record"}};

void move_output(Arguments& arguments, const OutputFlag& output, const std::string& folder) {
  const std::string path = take_option(arguments, output.flag);
  if (!path.empty()) arguments.push_back(fmt::format("{}={}", output.name, below(path, folder)));
}

void add_to_seed(Arguments& arguments, std::int64_t repeat) {
  const std::string text = take_option(arguments, "--seed");
  std::int64_t seed = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seed);
  // What is no seed is refused where the session is checked, before this.
  AK_ASSERT(read.ec == std::errc(), "a session's searches have seeds");
  const auto sum = static_cast<std::uint64_t>(seed) + static_cast<std::uint64_t>(repeat);
  arguments.push_back(fmt::format("--seed={}", sum & INT64_MAX));
}

void make_private_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), S_IRWXU) != 0)
    fail(ExitCode::output, "cannot make the folder {}: {}", folder.string(), std::strerror(errno));
}

}  // namespace

ArrayWish array_wish_from(std::string_view text) {
  const std::size_t at = text.find('%');
  const auto repeats = number_in(text.substr(0, at));
  const auto at_once = at == std::string_view::npos ? std::optional(0) : number_in(text.substr(at + 1));
  if (!repeats || !at_once)
    fail(ExitCode::usage,
         "--array {}: expected a number of jobs from 1 to {}, perhaps with how many of them may run at once, "
         "such as 8%2",
         sanitize(text, 60), kMostArrayJobs);
  return {.repeats = *repeats, .at_once = *at_once};
}

fs::path SessionArray::database(int job) const { return folder / fmt::format("{}.db", job); }

std::vector<SessionArray> arrays_of(const fs::path& database) {
  std::vector<SessionArray> found;
  std::error_code none;
  for (int number = 1; fs::exists(array_folder(database, number), none); ++number)
    found.push_back(array_of(database, number));
  return found;
}

SessionArray next_array(const fs::path& database, int size) {
  const int number = static_cast<int>(arrays_of(database).size()) + 1;
  return {.number = number, .folder = array_folder(database, number), .size = size};
}

db::Session job_of_array(db::Session session, int job, std::int64_t repeat) {
  const std::string number = std::to_string(job);
  session.name += "-" + number;
  for (db::SessionSearch& run : session.runs) {
    for (const OutputFlag& output : kOutputFlags) move_output(run.arguments, output, number);
    add_to_seed(run.arguments, repeat);
  }
  return session;
}

void make_output_folders(const std::vector<db::Session>& sessions) {
  for (const db::Session& session : sessions)
    for (const db::SessionSearch& run : session.runs)
      for (const OutputFlag& output : kOutputFlags) {
        Arguments arguments = run.arguments;
        const std::string path = take_option(arguments, output.flag);
        if (path.empty()) continue;
        const fs::path folder = (session.folder / fs::path(path)).parent_path();
        std::error_code reason;
        fs::create_directories(folder, reason);
        if (reason)
          fail(ExitCode::output, "cannot make the folder {}: {}", folder.string(), reason.message());
      }
}

std::string submit_array(const SessionArray& sessions, const std::vector<db::Session>& jobs,
                         const BatchArray& array) {
  const std::string script = batch_script(array);
  make_private_folder(sessions.folder);
  for (int job = 1; job <= sessions.size; ++job) {
    const fs::path database = sessions.database(job);
    const RowId session = db::SessionStore(database).create(jobs[static_cast<std::size_t>(job - 1)]);
    AK_ASSERT(session == kOnlySession, "a new database has no other session");
    prepare_job({.database = database,
                 .session = session,
                 .log = session_log(database, session),
                 .kind = array.kind,
                 .options = array.options});
  }
  const fs::path file = sessions.folder / "array.sh";
  write_file_atomically(file, script);
  std::string number;
  try {
    number = submitted_number(file);
  } catch (const Error& error) {
    for (int job = 1; job <= sessions.size; ++job)
      db::SessionStore(sessions.database(job))
          .end(kOnlySession, "failed", error.what(), static_cast<int>(error.code()));
    throw;
  }
  for (int job = 1; job <= sessions.size; ++job)
    note_job(job_folder(sessions.database(job), kOnlySession), fmt::format("{}_{}", number, job));
  return number;
}

}  // namespace ak::app
