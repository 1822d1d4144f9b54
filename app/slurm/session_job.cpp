// SPDX-License-Identifier: Apache-2.0
#include "app/slurm/session_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "app/session/session_manifest.h"
#include "app/slurm/slurm_client.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/line_diff.h"
#include "core/text/suggest.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

fs::path script_file(const fs::path& folder) { return folder / "job.sh"; }
fs::path number_file(const fs::path& folder) { return folder / "job"; }

void make_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), S_IRWXU) == 0) return;
  struct stat info = {};
  const int reason = errno;
  if (reason != EEXIST || ::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
      info.st_uid != ::geteuid())
    fail(ExitCode::output, "cannot make the folder {}: {}", folder.string(), std::strerror(reason));
  ::chmod(folder.c_str(), S_IRWXU);
}

/// The job's output is what the session says: its owner's alone, as without Slurm.
void make_log(const fs::path& file) {
  const FileDescriptor log(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!log) fail(ExitCode::output, "cannot write the log {}: {}", file.string(), std::strerror(errno));
}

/// The number in what `sbatch --parsable` prints: "123" or "123;cluster", on a line of its own, and no other such line.
std::optional<std::string> submitted_job(std::string_view text) {
  std::optional<std::string> found;
  for (const std::string_view line : lines_of(text)) {
    const std::string_view number = line.substr(0, line.find(';'));
    if (!is_job_number(number)) continue;
    if (found) return std::nullopt;
    found = std::string(number);
  }
  return found;
}

/// By its user, an administrator, or by Slurm where its launch failed ("JobHeldUser", "launch failed requeued held").
bool is_held(const JobState& state) {
  return state.reason.find("held") != std::string::npos || state.reason.find("Held") != std::string::npos;
}

std::string submit_script(const fs::path& folder) {
  return note_job(folder, submitted_number(script_file(folder)));
}

}  // namespace

fs::path job_folder(const fs::path& database, RowId session) {
  return database.string() + fmt::format("-session-{}-slurm", session);
}

bool runs_in_slurm(const fs::path& database, RowId session) {
  std::error_code none;
  return fs::exists(script_file(job_folder(database, session)), none);
}

std::optional<std::string> known_job(const fs::path& database, RowId session) {
  const fs::path file = number_file(job_folder(database, session));
  std::error_code none;
  if (!fs::exists(file, none)) return std::nullopt;
  constexpr std::size_t kMostBytes = 64;
  const std::string text = read_file(file, kMostBytes);
  const std::string_view number = std::string_view(text).substr(0, text.find('\n'));
  if (!is_job_number(number)) fail(ExitCode::bad_input, "{}: expected the number of a job", file.string());
  return std::string(number);
}

std::string note_job(const fs::path& folder, const std::string& job) {
  const fs::path file = number_file(folder), made = folder / ("job." + job);
  write_file_atomically(made, job + "\n");
  const bool first = ::link(made.c_str(), file.c_str()) == 0;
  const int reason = errno;
  ::unlink(made.c_str());
  if (first) return job;
  if (reason != EEXIST) fail(ExitCode::output, "cannot write {}: {}", file.string(), std::strerror(reason));
  std::string noted = read_file(file);
  while (!noted.empty() && noted.back() == '\n') noted.pop_back();
  return noted;
}

std::string submitted_number(const fs::path& script) {
  const auto answer = ask_slurm({"sbatch", "--parsable", script.string()}, kSlurmSubmission);
  if (!answer) fail(ExitCode::environment, "the session was not submitted: {}", answer.error().message);
  const auto job = submitted_job(*answer);
  if (!job)
    fail(ExitCode::environment,
         "sbatch says '{}', where the number of the job was expected; whether there is one, squeue says. The "
         "job notes its "
         "number itself when it begins",
         shown_in_line(*answer));
  return *job;
}

DeviceKind take_devices(db::Session& session) {
  std::optional<DeviceKind> kind;
  for (db::SessionSearch& run : session.runs) {
    const auto refuse = [&](const std::string& what) {
      fail(ExitCode::usage, "search '{}': {}: the workers of the job evaluate for it (docs/fleet.md)",
           run.name, what);
    };
    for (const char* flag : {"--pool", "--deterministic", "--baselines"})
      if (has_flag(run.arguments, flag)) refuse(fmt::format("{} and --slurm", flag));
    const std::string device = take_option(run.arguments, "--device");
    constexpr std::array<std::string_view, 5> kKnown{"", "auto", "cuda", "cuda:all", "emulator"};
    if (std::ranges::find(kKnown, device) == kKnown.end())
      refuse(fmt::format("--device {} and --slurm: expected cuda or emulator", sanitize(device, 60)));
    const DeviceKind wanted = device == "emulator" ? DeviceKind::emulator : DeviceKind::cuda;
    if (kind && kind != wanted) refuse("the CPU device beside GPUs");
    kind = wanted;
  }
  return kind.value_or(DeviceKind::cuda);
}

void prepare_job(const BatchJob& job) {
  const fs::path folder = job_folder(job.database, job.session);
  const std::string script = batch_script(job);
  make_folder(folder);
  make_log(job.log);
  write_file_atomically(script_file(folder), script);
}

std::string submit_session(const BatchJob& job) {
  prepare_job(job);
  return submit_script(job_folder(job.database, job.session));
}

void check_no_job(const fs::path& database, RowId session) {
  const auto job = known_job(database, session);
  if (!job) return;
  const JobState state = ask_job_state(*job);
  if (!state.in_queue)
    fail(ExitCode::environment, "whether job {} of session {} is still in the queue is not known: {}", *job,
         session, state.unknown);
  if (*state.in_queue)
    fail(ExitCode::usage, "job {} of session {} is in the queue: {}{}{}", *job, session, state.state,
         state.reason.empty() ? "" : fmt::format(" ({})", state.reason),
         is_held(state) ? fmt::format("; scontrol release {} lets it begin", *job) : "");
}

std::string submit_again(const fs::path& database, RowId session) {
  const fs::path folder = job_folder(database, session);
  std::error_code none;
  fs::remove(number_file(folder), none);  // of a job that has ended
  return submit_script(folder);
}

std::optional<JobState> job_state_of(const fs::path& database, RowId session) {
  if (!runs_in_slurm(database, session)) return std::nullopt;
  if (const auto job = known_job(database, session)) return ask_job_state(*job);
  JobState state;
  state.job = "?";
  state.unknown = fmt::format(
      "it was not submitted, or sbatch did not say its number; look with: squeue --name=alphakernel-{}",
      session);
  return state;
}

void cancel_job(const std::string& job) {
  const auto answer = ask_slurm({"scancel", job}, kSlurmAnswer);
  if (!answer) fail(ExitCode::environment, "job {} was not cancelled: {}", job, answer.error().message);
}

void claim_session(const fs::path& database, RowId session, const std::string& job) {
  const std::string noted = note_job(job_folder(database, session), job);
  if (noted != job)
    fail(ExitCode::usage, "job {} does nothing: session {} is that of job {}", job, session,
         sanitize(noted, 20));
}

}  // namespace ak::app
