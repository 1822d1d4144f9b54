// SPDX-License-Identifier: Apache-2.0
// A session as a job of a real Slurm with virtual nodes and CPU devices: disturbed in every way that a cluster knows, it
// ends with the rows of one that no one disturbed.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/db/store_fixture.h"
#include "tests/support/patience.h"
#include "tests/support/sandbox.h"
#include "tests/support/skips.h"

using namespace ak;
using namespace ak::testing;
using ak::db::test::intact;
using ak::db::test::integer;
using Catch::Contains;

namespace {

namespace fs = std::filesystem;

/// $AK_SLURM_NODES; the virtual nodes of the cluster.
int nodes() {
  const char* const wanted = std::getenv("AK_SLURM_NODES");
  return wanted == nullptr ? 4 : std::atoi(wanted);
}

/// Processes whose command line begins with `first` and has `word` somewhere; arguments end with zero bytes there.
std::vector<pid_t> processes_with(const std::string& first, const std::string& word) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid == 0) continue;
    std::ifstream file(entry.path() / "cmdline");
    const std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (line.starts_with(first) && line.find(word) != std::string::npos) found.push_back(pid);
  }
  return found;
}

std::string command_line(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, std::string(1, '\0')));
}

/// A Slurm that ends with this object.
class Cluster {
 public:
  Cluster() {
    const ProgramResult up = script({"up", folder_.path().string(), std::to_string(nodes())});
    INFO(up.out << up.err);
    reason_ = up.err;
    REQUIRE((up.exit_code == 0 || up.exit_code == 77));
    is_up_ = up.exit_code == 0;
  }
  ~Cluster() { static_cast<void>(script({"down", folder_.path().string()})); }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] bool is_up() const { return is_up_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// Runs a program among this Slurm's.
  [[nodiscard]] ProgramResult run(std::vector<std::string> argv,
                                  const std::map<std::string, std::string>& environment = {}) const {
    argv.insert(argv.begin(), {"/bin/bash", "-c", R"(. "$0/env" && exec "$@")", folder_.path().string()});
    return run_program(argv, environment);
  }

  /// A job that was queued again would wait for two minutes. Slurm counts in seconds: to a node, a credential from the
  /// second in which it heard that the job had ended is one of the job that has ended.
  void begin_now(const std::string& job) const {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    CHECK(run({"scontrol", "update", "jobid=" + job, "StartTime=now"}).exit_code == 0);
  }

 private:
  static ProgramResult script(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"/bin/bash", AK_SOURCE_DIR "/tests/slurm/slurm_cluster.sh"});
    return run_program(arguments, {{"AK_SLURM_PACKAGES", AK_SLURM_PACKAGES}});
  }

  TemporaryFolder folder_;
  std::string reason_;
  bool is_up_ = false;
};

/// A session of one search, whose course does not depend on which evaluation ends first.
class Night {
 public:
  explicit Night(const Cluster& cluster) : cluster_(cluster) {
    box_.write(
        "night.json", R"({"runs": [{"algorithm": "vector_add", "shape": {"N": 100000}, "device": "emulator",
      "arch": "sm_80", "proposer": "search", "strategy": "exhaustive", "seed": 3, "max_evaluations": 160, "transfer": false,
      "output": ")" + (box_.folder / "k.cu").string() +
                          "\"}]}");
  }

  ProgramResult session(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {AK_PROGRAM, "session"});
    return cluster_.run(arguments, box_.environment);
  }
  /// Begins it; the number of its job.
  std::string start() {
    const ProgramResult started =
        session({"start", (box_.folder / "night.json").string(), "--slurm", "--json", "--merge-into",
                 home().string(), "--", fmt::format("--nodes={}", nodes()), "--ntasks-per-node=1"});
    INFO(started.out << started.err);
    REQUIRE(started.exit_code == 0);
    return parse_json(started.out)["job"];
  }
  Json status() {
    const ProgramResult result = session({"status", "--json"});
    INFO(result.out << result.err);
    REQUIRE(result.exit_code == 0);
    return parse_json(result.out);
  }
  [[nodiscard]] bool is(const std::string& state) { return status()["state"] == state; }
  /// Its database has been merged, too.
  [[nodiscard]] bool is_done() { return is("finished") && job_state() == "COMPLETED"; }
  [[nodiscard]] std::string job_state() {
    const Json state = status()["record"]["job"]["state"];
    return state.is_string() ? state.get<std::string>() : "";
  }
  [[nodiscard]] fs::path database() const { return box_.folder / "ak.db"; }
  [[nodiscard]] fs::path home() const { return box_.folder / "home.db"; }
  [[nodiscard]] std::string log() const { return read_file(database().string() + "-session-1.log"); }
  [[nodiscard]] std::int64_t evaluated() const {
    return integer(database(), "SELECT count(*) FROM evaluations");
  }
  [[nodiscard]] bool evaluates(std::int64_t more) const {
    const std::int64_t until = evaluated() + more;
    return in_the_end([&] { return evaluated() >= until; });
  }
  /// Processes of the session whose first arguments are these.
  [[nodiscard]] std::vector<pid_t> processes(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), AK_PROGRAM);
    return processes_with(command_line(arguments), box_.folder.path().string());
  }
  [[nodiscard]] bool kill_one(const std::vector<std::string>& arguments) const {
    std::vector<pid_t> found;
    return in_the_end([&] { return !(found = processes(arguments)).empty(); }) &&
           ::kill(found.front(), SIGKILL) == 0;
  }
  [[nodiscard]] bool leaves_no_process() const {
    return in_the_end([&] { return processes({}).empty(); });
  }

 private:
  const Cluster& cluster_;
  Sandbox box_;
};

/// What lasts of the search's evaluations and does not depend on who came first.
std::string lasting(const fs::path& database) {
  return db::render(db::query(database,
                              "SELECT p.iteration, p.proposer, p.arm, hex(v.variant_hash), v.tunables, "
                              "e.depth, e.input_seed, e.status, "
                              "e.stage, e.message, e.gate, e.score_ns, e.occupancy_ratio, e.shared_bytes, "
                              "(SELECT group_concat(hex(g.uid)) FROM evaluation_checks c JOIN check_groups g "
                              "ON g.id = c.group_id "
                              "WHERE c.evaluation_id = e.id) AS checks, "
                              "(SELECT count(*) FROM measurements m WHERE m.evaluation_id = e.id AND m.role "
                              "= 'candidate') AS timings "
                              "FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN variants v "
                              "ON v.id = e.variant_id "
                              "WHERE p.arm IN ('start', 'exhaustive') ORDER BY p.iteration, v.variant_hash",
                              0, kPatience),
                    db::TableFormat::csv);
}

TEST_CASE(
    "a session in Slurm that is killed, told that its time ends, stopped and resumed ends as one that is "
    "left alone") {
  if (std::getenv("AK_SOAK_ITERATIONS") == nullptr) {
    WARN(
        "not tested: a cluster of virtual nodes needs a minute and Debian's packages of Slurm; tools/soak.sh "
        "slurm "
        "has it");
    ++skipped_cases;
    return;
  }
  const Cluster cluster;
  if (!cluster.is_up()) {
    WARN("not tested: " << cluster.reason());
    ++skipped_cases;
    return;
  }
  Night calm(cluster);
  const std::string calm_job = calm.start();
  REQUIRE(in_the_end([&] { return calm.is_done(); }));
  INFO(calm.log());
  const std::string expected = lasting(calm.database());
  CHECK(calm.evaluated() >= 160);
  CHECK(lasting(calm.home()) == expected);

  Night night(cluster);
  const std::string job = night.start();
  REQUIRE(in_the_end([&] { return night.evaluated() > 0; }));
  CHECK(night.job_state() == "RUNNING");
  CHECK_THAT(night.session({"status"}).out, Contains("Slurm job " + job + ": RUNNING"));
  CHECK_THAT(night.session({"resume", "1"}).err, Contains("running already"));

  REQUIRE(night.kill_one({"worker", "--connect"}));
  REQUIRE(night.evaluates(2));
  REQUIRE(night.kill_one({"session", "work"}));
  REQUIRE(night.evaluates(2));

  // The notice that the job's time ends.
  REQUIRE(cluster.run({"scancel", "--signal=USR1", "--batch", job}).exit_code == 0);
  REQUIRE(in_the_end([&] {
    return cluster.run({"scontrol", "show", "job", job}).out.find("Restarts=1") != std::string::npos;
  }));
  CHECK(in_the_end([&] {
    return night.session({"status"}).out.find("Slurm job " + job + ": PENDING (BeginTime)") !=
           std::string::npos;
  }));
  cluster.begin_now(job);
  INFO(night.log());
  REQUIRE(in_the_end([&] { return night.is("running") || night.job_state() == "FAILED"; }));
  REQUIRE(night.is("running"));
  REQUIRE(night.evaluates(2));

  // Slurm ends the job, as where it is preempted.
  REQUIRE(cluster.run({"scancel", "--signal=TERM", "--batch", job}).exit_code == 0);
  REQUIRE(in_the_end([&] { return night.is("stopped"); }));
  REQUIRE(in_the_end([&] { return night.job_state() == "FAILED"; }));
  REQUIRE(intact(night.database()));
  CHECK(integer(night.database(), "SELECT count(*) FROM evaluations") < 160);
  CHECK(!fs::exists(night.home()));
  CHECK(night.leaves_no_process());

  const ProgramResult resumed = night.session({"resume", "1"});
  INFO(resumed.out << resumed.err);
  REQUIRE(resumed.exit_code == 0);
  REQUIRE(in_the_end([&] { return night.is_done(); }));
  CHECK(lasting(night.database()) == expected);
  CHECK(lasting(night.home()) == expected);
  CHECK(integer(night.home(), "SELECT count(*) FROM sessions WHERE status = 'finished'") == 1);
  CHECK(night.leaves_no_process());
}

}  // namespace
