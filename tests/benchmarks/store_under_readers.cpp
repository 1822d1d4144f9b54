// SPDX-License-Identifier: Apache-2.0
// How fast a search commits evaluations while processes read the same file: rounds without and with readers
// alternately, so that both see the same machine. Readers ask what a dashboard does, a few times a second each.
// Commits into a copy: store_under_readers FILE --seconds 5. Prints CSV.
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.h"
#include "db/read/named_queries.h"
#include "tests/db/store_fixture.h"

extern char** environ;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Options {
  std::string file;
  int readers = 10, rounds = 3;
  double seconds = 5;
  int poll_ms = 400;  ///< a reader's pause between two questions
  int pace_ms = 0;    ///< the writer's; 0: as fast as it can
  bool read = false;
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// One reader, until it is killed.
[[noreturn]] void read(const Options& options) {
  const auto queries = ak::db::named_queries({});
  const auto ask = [&](const char* name, const std::vector<std::string>& given) {
    const auto& named = *std::ranges::find(queries, name, &ak::db::NamedQuery::name);
    static_cast<void>(ak::db::query(options.file, named.sql, 0, std::chrono::seconds(60),
                                    ak::db::query_values(named, given)));
    std::this_thread::sleep_for(milliseconds(options.poll_ms));
  };
  for (;;) {
    ask("leaderboard", {"definition=softmax_bf16"});
    ask("searches", {});
    ask("progress", {});
  }
}

class Readers {
 public:
  Readers(const Options& options, int count) {
    std::vector<std::string> words{"store_under_readers", options.file, "--read", "--poll-ms",
                                   fmt::format("{}", options.poll_ms)};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    for (int i = 0; i < count; ++i) {
      pid_t child = 0;
      if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) == 0)
        children_.push_back(child);
    }
    if (count > 0) std::this_thread::sleep_for(std::chrono::seconds(1));
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

void write_round(const Options& options, ak::db::test::Run& run, int round, int readers) {
  const Readers others(options, readers);
  std::vector<double> commits;
  const auto start = Clock::now();
  while (ms_since(start) < 1e3 * options.seconds) {
    const auto before = Clock::now();
    run.commit(run.iteration + 1, ak::Status::ok, 1e6 + run.iteration);
    commits.push_back(ms_since(before));
    if (options.pace_ms > 0) std::this_thread::sleep_until(before + milliseconds(options.pace_ms));
  }
  const double rate = 1e3 * static_cast<double>(commits.size()) / ms_since(start);
  std::ranges::sort(commits);
  fmt::print("{},{},{},{:.1f},{:.3f},{:.3f}\n", round, readers, options.pace_ms, rate,
             commits[commits.size() / 2], commits[commits.size() * 95 / 100]);
}

void measure(const Options& options) {
  const auto store = ak::db::open_store(options.file);
  ak::db::test::Run run(*store);
  fmt::print("round,readers,pace_ms,commits_per_s,median_ms,p95_ms\n");
  for (int round = 1; round <= options.rounds; ++round)
    for (const int readers : {0, options.readers}) write_round(options, run, round, readers);
  store->end_search(run.search, "finished", "", std::nullopt);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("How fast a search commits while others read. It writes into the file: use a copy.");
  Options options;
  app.add_option("file", options.file, "a database")->required()->check(CLI::ExistingFile);
  app.add_option("--readers", options.readers, "processes that read")->capture_default_str();
  app.add_option("--rounds", options.rounds, "of each kind")->capture_default_str();
  app.add_option("--seconds", options.seconds, "of a round")->capture_default_str();
  app.add_option("--poll-ms", options.poll_ms, "pause of a reader between questions")->capture_default_str();
  app.add_option("--pace-ms", options.pace_ms, "of the writer: one commit so often; 0: as fast as it can")
      ->capture_default_str();
  app.add_flag("--read", options.read, "be a reader");
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.read) read(options);
    measure(options);
    return 0;
  } catch (const ak::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
