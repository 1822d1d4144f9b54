// SPDX-License-Identifier: Apache-2.0
#include "app/slurm/job_process.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <deque>
#include <optional>
#include <string>
#include <thread>

#include "app/session/session_home.h"
#include "app/setup/program_paths.h"
#include "app/slurm/job_facts.h"
#include "app/slurm/job_program.h"
#include "app/slurm/session_job.h"
#include "app/slurm/slurm_client.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/json.h"
#include "core/text/print_stderr.h"
#include "db/store/session_store.h"
#include "runtime/fleet/secure_stream.h"
#include "runtime/fleet/tcp_socket.h"
#include "runtime/process/child_process.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

// How often what is due is looked at where no signal comes.
constexpr std::chrono::milliseconds kJobPoll{500};
// A session's process that an earlier job left behind ends as soon as Slurm has noticed (chosen).
constexpr std::chrono::seconds kFormerProcess{120};
// srun asks its tasks to end, and kills them after some seconds.
constexpr std::chrono::seconds kStepsEnd{10};
// A session's process that is killed so often within a minute each has a cause that stays (chosen).
constexpr int kMostKills = 20;
constexpr int kSignalled = 128;  // as shells say it
constexpr std::size_t kHostNameBytes = 256;

/// The signals of a job's processes, which are taken by next() alone.
class JobSignals {
 public:
  JobSignals() {
    ::sigemptyset(&set_);
    for (const int one : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD}) ::sigaddset(&set_, one);
    ::sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~JobSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  JobSignals(const JobSignals&) = delete;
  JobSignals& operator=(const JobSignals&) = delete;

  /// The next signal; 0 where none comes within `limit`.
  [[nodiscard]] int next(std::chrono::milliseconds limit) const {
    const timespec time{.tv_sec = limit.count() / 1000, .tv_nsec = limit.count() % 1000 * 1'000'000};
    return std::max(::sigtimedwait(&set_, nullptr, &time), 0);
  }

 private:
  sigset_t set_{}, before_{};
};

/// Where workers of these nodes reach this one.
std::string host_of(const JobFacts& facts) {
  if (facts.tasks_of_nodes.size() == 1) return "127.0.0.1";
  std::array<char, kHostNameBytes> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

runtime::FleetAddress free_address(const std::string& host) {
  const auto listening = runtime::listen_on({.host = host, .port = "0"}, false);
  return {.host = host, .port = std::to_string(runtime::port_of(listening))};
}

class JobProcess {
 public:
  JobProcess(fs::path database, RowId session, DeviceKind kind, JobFacts facts)
      : database_(std::move(database)), session_(session), kind_(kind), facts_(std::move(facts)) {}

  int run();

 private:
  /// False when a signal ends the job before.
  [[nodiscard]] bool await_former_process();
  void prepare_pool();
  void add_programs();
  void keep_running();
  void take(int signal);
  void reap();
  void end_steps();
  void queue_again() const;
  [[nodiscard]] bool stopping() const { return stopping_; }

  fs::path database_;
  RowId session_;
  DeviceKind kind_;
  JobFacts facts_;
  JobSignals signals_;
  fs::path pool_, token_;
  std::string address_;
  std::deque<JobProgram> programs_;  ///< the session, and a step for each node
  std::optional<int> exit_code_;     ///< of the session, once it has ended
  bool stopping_ = false, time_ends_ = false;
};

bool JobProcess::await_former_process() {
  const db::SessionLock lock(database_);
  const auto give_up = steady_clock::now() + kFormerProcess;
  for (bool said = false; lock.is_taken(session_); said = true) {
    if (!said) print_stderr("note: another process runs session {} still; waiting for its end\n", session_);
    if (steady_clock::now() > give_up)
      fail(ExitCode::usage, "session {} is running already, in a process that is not of this job", session_);
    take(signals_.next(kJobPoll));
    if (stopping_) return false;
  }
  return true;
}

void JobProcess::prepare_pool() {
  const fs::path folder = job_folder(database_, session_);
  pool_ = folder / "pool.json";
  token_ = folder / "token";
  address_ = to_string(free_address(host_of(facts_)));
  runtime::write_fleet_token(token_);
  Json devices{{"listen", address_}, {"token_file", token_.filename().string()}, {"count", facts_.tasks()}};
  if (kind_ == DeviceKind::emulator) devices["device"] = "emulator";
  write_file_atomically(pool_, Json{{"format", 1}, {"devices", Json::array({devices})}}.dump(2) + "\n");
}

void JobProcess::add_programs() {
  const std::string program = worker_command().front();
  programs_.emplace_back(std::vector<std::string>{program, "session", "work", std::to_string(session_),
                                                  "--pool=" + pool_.string(), "--db=" + database_.string()},
                         std::vector<std::string>());
  for (std::size_t node = 0; node < facts_.tasks_of_nodes.size(); ++node)
    programs_.emplace_back(
        std::vector<std::string>{"srun", "--overlap", "--nodes=1",
                                 fmt::format("--ntasks={}", facts_.tasks_of_nodes[node]),
                                 fmt::format("--relative={}", node), "--kill-on-bad-exit=1", program,
                                 "worker", "--connect", address_, "--token-file", token_.string()},
        runtime::child_environment(true));
}

void JobProcess::take(int signal) {
  if (signal == 0 || signal == SIGCHLD) return;
  stopping_ = true;
  time_ends_ = time_ends_ || signal == SIGUSR1;
  if (!programs_.empty()) programs_.front().send(SIGTERM);
}

void JobProcess::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto ended = std::ranges::find(programs_, pid, &JobProgram::pid);
    if (ended == programs_.end()) continue;
    ended->note_end(steady_clock::now());
    if (ended != programs_.begin()) continue;
    if (WIFEXITED(status)) exit_code_ = WEXITSTATUS(status);
    if (!WIFSIGNALED(status)) continue;
    if (stopping_)
      exit_code_ = kSignalled + WTERMSIG(status);
    else
      print_stderr("note: the process of session {} was ended by signal {}, and is started again\n", session_,
                   WTERMSIG(status));
  }
}

void JobProcess::keep_running() {
  const JobProgram& session = programs_.front();
  while (!exit_code_) {
    if (session.soon_ended() >= kMostKills)
      fail(ExitCode::environment, "the process of session {} was killed {} times in a row", session_,
           kMostKills);
    for (JobProgram& program : programs_)
      if (!stopping_ && program.due(steady_clock::now())) program.start(steady_clock::now());
    if (stopping_ && session.pid() == 0) exit_code_ = static_cast<int>(ExitCode::interrupted);
    take(signals_.next(kJobPoll));
    reap();
  }
}

void JobProcess::end_steps() {
  for (const JobProgram& program : programs_) program.send(SIGTERM);
  const auto any_left = [this] {
    return std::ranges::any_of(programs_, [](const JobProgram& p) { return p.pid() != 0; });
  };
  for (const auto give_up = steady_clock::now() + kStepsEnd; any_left() && steady_clock::now() < give_up;
       reap())
    static_cast<void>(signals_.next(kJobPoll));
  for (const JobProgram& program : programs_) program.send(SIGKILL);
}

/// This ends the job, too.
void JobProcess::queue_again() const {
  if (const auto answer = ask_slurm({"scontrol", "requeue", facts_.job}, kSlurmSubmission); !answer)
    print_stderr("error: job {} is not queued again; continue with: alphakernel session resume {}: {}\n",
                 facts_.job, session_, answer.error().message);
}

int JobProcess::run() {
  // The job's own process is Slurm's child, and ends with it.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (!await_former_process()) return static_cast<int>(ExitCode::interrupted);
  const auto end = [&] {
    end_steps();
    std::error_code none;
    for (const fs::path& file : {token_, pool_}) fs::remove(file, none);
  };
  try {
    prepare_pool();
    add_programs();
    keep_running();
  } catch (...) {
    end();
    throw;
  }
  end();
  if (time_ends_ && *exit_code_ == static_cast<int>(ExitCode::interrupted)) queue_again();
  return *exit_code_;
}

/// The session has nothing left to do: it has ended in an earlier life of the job, or was stopped before it began.
std::optional<int> end_of(const fs::path& database, RowId session) {
  db::SessionStore store(database);
  const db::Session stored = store.read(session);
  const bool done = std::ranges::all_of(stored.runs, &db::SessionSearch::is_done);
  if (stored.status == "finished" && done) {
    bring_home(stored, database);
    return stored.exit_code.value_or(0);
  }
  if (!store.stop_requested(session)) return std::nullopt;
  store.end(session, "stopped", "stopped", static_cast<int>(ExitCode::interrupted));
  return static_cast<int>(ExitCode::interrupted);
}

}  // namespace

int run_job(const fs::path& database, RowId session, DeviceKind kind, bool of_array) {
  JobFacts facts = job_facts(of_array);
  claim_session(database, session, facts.job);
  if (const auto code = end_of(database, session)) {
    print_stderr("note: session {} has ended: nothing is left to do\n", session);
    return *code;
  }
  return JobProcess(database, session, kind, std::move(facts)).run();
}

}  // namespace ak::app
