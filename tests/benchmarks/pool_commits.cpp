// SPDX-License-Identifier: Apache-2.0
// How many evaluations a second a controller takes from the workers of a pool and commits: workers are processes that
// answer every task with the same recorded result over the worker protocol, and readers ask what a dashboard does, a few
// times a second each. Rounds without and with readers in turns, so that both see the same machine.
//   pool_commits FILE [--workers 64] [--readers 10] [--seconds 5] [--rounds 3] [--one-by-one]
// FILE is made where there is none. Prints CSV.
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <memory>
#include <thread>

#include "core/error.h"
#include "db/read/named_queries.h"
#include "runtime/process/device_messages.h"
#include "runtime/process/worker_process.h"
#include "runtime/process/worker_protocol.h"
#include "tests/db/store_fixture.h"

extern char** environ;

namespace {

using Clock = std::chrono::steady_clock;
using ak::runtime::WorkerMessage;
using std::chrono::milliseconds;

struct Options {
  std::string file;
  int workers = 64, readers = 10, rounds = 3;
  double seconds = 5;
  bool one_by_one = false, answer = false, read = false;
};

constexpr milliseconds kReaderPause{400};
constexpr double kRecordedNs = 1e6;
// Two tasks to a worker, as the evaluator sends the next one ahead.
constexpr int kAhead = 2;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Of this thread, which reads the answers and commits them; threads of the workers move bytes.
double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// One worker, until its parent's end closes.
int answer() {
  ak::runtime::WorkerChannel channel;
  if (!channel.await_hello()) return 1;
  channel.answer_hello({{"role", "device"}});
  const ak::EvaluationResult result = ak::db::test::Run::result(ak::Status::ok, kRecordedNs);
  ak::runtime::DeviceAnswer recorded;
  recorded.outcome = result.outcome;
  recorded.checks = result.checks;
  recorded.measurements = result.measurements;
  const ak::Json body = to_json(recorded);
  while (const auto request = channel.receive()) channel.respond(*request, "evaluated", body);
  return 0;
}

/// One reader, until it is killed.
[[noreturn]] void read(const Options& options) {
  const auto queries = ak::db::named_queries({});
  for (;;) {
    for (const char* name : {"leaderboard", "searches", "progress"}) {
      const auto& named = *std::ranges::find(queries, name, &ak::db::NamedQuery::name);
      static_cast<void>(ak::db::query(options.file, named.sql, 0, std::chrono::seconds(60),
                                      ak::db::query_values(named, {})));
      std::this_thread::sleep_for(kReaderPause);
    }
  }
}

class Readers {
 public:
  Readers(const Options& options, int count) {
    std::vector<std::string> words{"pool_commits", options.file, "--read"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    for (int i = 0; i < count; ++i) {
      pid_t child = 0;
      if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) == 0)
        children_.push_back(child);
    }
  }
  ~Readers() {
    for (const pid_t child : children_) kill(child, SIGTERM);
    for (const pid_t child : children_) waitpid(child, nullptr, 0);
  }
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

 private:
  std::vector<pid_t> children_;
};

/// The workers, and the tasks that they have.
class Pool {
 public:
  Pool(const Options& options, const ak::Json& task) : task_(task) {
    for (int i = 0; i < options.workers; ++i) {
      auto worker = std::make_unique<ak::runtime::WorkerProcess>(
          std::vector<std::string>{"/proc/self/exe", options.file, "--answer"});
      const auto hello = worker->await_hello(Clock::now() + std::chrono::seconds(60));
      if (!hello) ak::fail(ak::ExitCode::environment, "a worker: {}", hello.error().message);
      for (int task_number = 0; task_number < kAhead; ++task_number) send(*worker);
      workers_.push_back(std::move(worker));
    }
  }

  /// All answers that have come; waits for one.
  std::vector<ak::runtime::DeviceAnswer> take() {
    std::vector<pollfd> descriptors;
    for (const auto& worker : workers_)
      descriptors.push_back({.fd = worker->descriptor(), .events = POLLIN, .revents = 0});
    static_cast<void>(::poll(descriptors.data(), descriptors.size(), 1'000));
    std::vector<ak::runtime::DeviceAnswer> answers;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (descriptors[i].revents == 0) continue;
      const ak::runtime::WorkerReply reply = workers_[i]->receive(Clock::now());
      if (const auto* lost = std::get_if<ak::runtime::WorkerLost>(&reply))
        ak::fail(ak::ExitCode::environment, "a worker {}", lost->reason);
      if (const auto* message = std::get_if<WorkerMessage>(&reply)) {
        answers.push_back(ak::runtime::device_answer_from_json(message->body));
        send(*workers_[i]);
      }
    }
    return answers;
  }

 private:
  void send(ak::runtime::WorkerProcess& worker) {
    worker.send({.id = ++last_id_, .type = "evaluate", .body = task_, .prints = {}});
  }

  const ak::Json task_;
  std::vector<std::unique_ptr<ak::runtime::WorkerProcess>> workers_;
  std::uint64_t last_id_ = 0;
};

void commit(ak::db::test::Run& run, ak::runtime::DeviceAnswer answer) {
  ak::EvaluationResult result = ak::db::test::Run::result(ak::Status::ok, kRecordedNs);
  result.checks = std::move(answer.checks);
  result.measurements = std::move(answer.measurements);
  static_cast<void>(run.commit(run.request(run.iteration + 1), result));
}

void run_round(const Options& options, Pool& pool, ak::db::test::Run& run, int round, int readers) {
  const Readers others(options, readers);
  const auto start = Clock::now();
  const double cpu_start = cpu_seconds();
  std::int64_t committed = 0;
  while (seconds_since(start) < options.seconds) {
    std::vector<ak::runtime::DeviceAnswer> answers = pool.take();
    const auto commit_all = [&] {
      for (ak::runtime::DeviceAnswer& answer : answers) commit(run, std::move(answer));
    };
    options.one_by_one ? commit_all() : run.store.together(commit_all);
    committed += std::ssize(answers);
  }
  const double seconds = seconds_since(start);
  fmt::print("{},{},{},{:.0f},{:.3f}\n", round, options.workers, readers,
             static_cast<double>(committed) / seconds,
             1e3 * (cpu_seconds() - cpu_start) / static_cast<double>(committed));
  std::fflush(stdout);
}

void measure(const Options& options) {
  const auto store = ak::db::open_store(options.file);
  ak::db::test::Run run(*store);
  const ak::runtime::DeviceTask task{
      .image = {.image = std::string(20'000, 'x'), .kernels = {}}, .workloads = {}, .budget = {}};
  Pool pool(options, to_json(task));
  fmt::print("round,workers,readers,commits_per_s,cpu_ms\n");
  for (int round = 1; round <= options.rounds; ++round)
    for (const int readers : {0, options.readers}) run_round(options, pool, run, round, readers);
  store->end_search(run.search, "finished", "", std::nullopt);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("How many answers of the workers of a pool are committed a second.");
  Options options;
  app.add_option("file", options.file, "a database; made where there is none")->required();
  app.add_option("--workers", options.workers, "processes that answer")->capture_default_str();
  app.add_option("--readers", options.readers, "processes that read")->capture_default_str();
  app.add_option("--rounds", options.rounds, "of each kind")->capture_default_str();
  app.add_option("--seconds", options.seconds, "of a round")->capture_default_str();
  app.add_flag("--one-by-one", options.one_by_one,
               "commit every answer alone; else those that have come are committed together");
  app.add_flag("--answer", options.answer, "be a worker");
  app.add_flag("--read", options.read, "be a reader");
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.answer) return answer();
    if (options.read) read(options);
    measure(options);
    return 0;
  } catch (const ak::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
