// SPDX-License-Identifier: Apache-2.0
// Sessions for a Slurm that is not there, refuses, or says something else than it should: programs of our own in its place.
// tests/slurm has the real one.
#include <fmt/format.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;
using Catch::Contains;

namespace {

namespace fs = std::filesystem;

struct OtherSlurm {
  OtherSlurm() {
    fs::create_directory(box.folder / "slurm");
    box.environment["PATH"] = (box.folder / "slurm").string();
    box.write("night.json", R"({"defaults": {"device": "emulator", "arch": "sm_80", "unaudited": true},
      "runs": [{"algorithm": "vector_add", "shape": {"N": 1000}, "max_evaluations": 3}]})");
  }
  /// Makes one of its programs: a script of sh, which has no other program to call.
  void program(const std::string& name, const std::string& script) const {
    const std::string file = box.write("slurm/" + name, "#!/bin/sh\n" + script + "\n");
    fs::permissions(file, fs::perms::owner_all);
  }
  ProgramResult session(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "session");
    return box.run(arguments);
  }
  ProgramResult start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"start", (box.folder / "night.json").string(), "--output-folder",
                                       box.folder.path().string(), "--slurm"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return session(arguments);
  }
  Json status() { return parse_json(session({"status", "--json"}).out); }
  [[nodiscard]] fs::path job_folder() const { return box.folder / "ak.db-session-1-slurm"; }

  Sandbox box;
};

void check_error(const ProgramResult& result, ExitCode expected, const std::string& words) {
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(expected));
  CHECK_THAT(result.err, Contains(words));
}

TEST_CASE("a session that sbatch did not take is kept with the reason, and is submitted by resume") {
  OtherSlurm slurm;
  check_error(slurm.start(), ExitCode::environment, "sbatch cannot be started: No such file or directory");
  CHECK(slurm.status()["state"] == "failed");
  CHECK_THAT(slurm.status()["reason"].get<std::string>(), Contains("sbatch cannot be started"));
  CHECK_THAT(slurm.session({"status"}).out, Contains("sbatch did not say its number"));

  slurm.program("sbatch", "echo 'sbatch: error: invalid partition specified: gpu' >&2; exit 1");
  check_error(slurm.session({"resume", "1"}), ExitCode::environment, "invalid partition specified: gpu");
  slurm.program("sbatch", "echo 'Submitted batch job'; echo 'have a nice day'");
  check_error(slurm.session({"resume", "1"}), ExitCode::environment,
              "where the number of the job was expected");
  slurm.program("sbatch", "echo 41; echo 42");
  check_error(slurm.session({"resume", "1"}), ExitCode::environment,
              "where the number of the job was expected");
  slurm.program("sbatch", "echo I/O error writing script/environment to file >&2; exit 1");
  check_error(slurm.session({"resume", "1"}), ExitCode::environment, "I/O error writing script");
  CHECK(slurm.box.query("SELECT status FROM sessions") == "failed\r\n");

  slurm.program("sbatch", "echo 'have a nice day'; echo '41;cluster'");
  const ProgramResult submitted = slurm.session({"resume", "1"});
  INFO(submitted.out << submitted.err);
  CHECK(submitted.exit_code == 0);
  CHECK_THAT(submitted.out, Contains("session 1 is job 41 of Slurm"));
  CHECK(slurm.status()["state"] == "queued");
}

TEST_CASE("a session has one job: a second one is not submitted, and does nothing where it begins") {
  OtherSlurm slurm;
  slurm.program("sbatch", "echo 41");
  REQUIRE(slurm.start({"--", "--nodes=2"}).exit_code == 0);
  slurm.program("squeue", "echo '41|PENDING|Priority|0:00|1:00:00|'");
  check_error(slurm.session({"resume", "1"}), ExitCode::usage,
              "job 41 of session 1 is in the queue: PENDING");
  slurm.program("squeue", "echo '41|PENDING|launch failed requeued held|0:00|1:00:00|'");
  check_error(slurm.session({"resume", "1"}), ExitCode::usage,
              "PENDING (launch failed requeued held); scontrol release 41 lets it begin");
  slurm.program("squeue", "echo welcome");
  check_error(slurm.session({"resume", "1"}), ExitCode::environment,
              "is not known: squeue prints something else");
  slurm.program("squeue", "echo 'Unable to contact slurm controller' >&2; exit 1");
  check_error(slurm.session({"resume", "1"}), ExitCode::environment, "Unable to contact slurm controller");
  CHECK_THAT(slurm.session({"status"}).out,
             Contains("Slurm job 41: not known: squeue ended with exit code 1"));

  // It vanished: another one may take its place.
  slurm.program("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
  const Json job = slurm.status()["record"]["job"];
  INFO(job.dump());
  CHECK(job["in_queue"] == false);
  CHECK(job["state"].is_null());
  CHECK_THAT(job["unknown"].get<std::string>(),
             Contains("how it ended is not known: sacct cannot be started"));
  slurm.program("sbatch", "echo 42");
  CHECK_THAT(slurm.session({"resume", "1"}).out, Contains("session 1 is job 42"));
  slurm.box.environment["SLURM_TASKS_PER_NODE"] = "1";
  slurm.box.environment["SLURM_JOB_ID"] = "41";
  check_error(slurm.session({"job", "1", "--device=emulator"}), ExitCode::usage,
              "job 41 does nothing: session 1 is that of job 42");
  slurm.box.environment["SLURM_TASKS_PER_NODE"] = "many";
  check_error(slurm.session({"job", "1", "--device=emulator"}), ExitCode::usage,
              "SLURM_TASKS_PER_NODE is 'many'");
  slurm.box.environment["SLURM_JOB_ID"] = "";
  check_error(slurm.session({"job", "1", "--device=emulator"}), ExitCode::usage, "this is no job of Slurm");
}

TEST_CASE("a job that waits is cancelled by stop, and does nothing where Slurm begins it all the same") {
  OtherSlurm slurm;
  slurm.program("sbatch", "echo 41");
  slurm.program("squeue", "echo '41|PENDING|Priority|0:00|1:00:00|'");
  REQUIRE(slurm.start().exit_code == 0);
  slurm.program("scancel", "echo 'Access denied' >&2; exit 1");
  check_error(slurm.session({"stop", "1"}), ExitCode::environment,
              "job 41 was not cancelled: scancel ended with exit code 1");
  slurm.program("scancel", "[ \"$1\" = 41 ]");
  CHECK_THAT(slurm.session({"stop", "1"}).out, Contains("job 41 is cancelled"));
  CHECK(slurm.status()["state"] == "stopped");
  slurm.box.environment["SLURM_JOB_ID"] = "41";
  slurm.box.environment["SLURM_TASKS_PER_NODE"] = "1";
  const ProgramResult begun = slurm.session({"job", "1", "--device=emulator"});
  CHECK(begun.exit_code == code(ExitCode::interrupted));
  CHECK_THAT(begun.err, Contains("nothing is left to do"));
}

TEST_CASE("a dry run prints the script of a job and leaves nothing, and a job gets no secret") {
  OtherSlurm slurm;
  const ProgramResult dry = slurm.start({"--dry-run", "--", "--nodes=4", "--time=8:00:00"});
  INFO(dry.out << dry.err);
  CHECK(dry.exit_code == 0);
  CHECK_THAT(dry.out, Catch::StartsWith("#!/bin/sh\n") && Contains("#SBATCH --nodes=4 --time=8:00:00\n") &&
                          Contains("session job 1 --device=emulator"));
  CHECK(slurm.box.query("SELECT count(*) FROM sessions") == "0\r\n");
  CHECK(!fs::exists(slurm.job_folder()));

  slurm.box.environment["ANTHROPIC_API_KEY"] = "sesame";
  slurm.box.environment["ALPHAKERNEL_LOCAL_KEY"] = "sesame";
  slurm.program("sbatch", "export -p > " + (slurm.box.folder / "given").string() + "; echo \"$@\" >> " +
                              (slurm.box.folder / "given").string() + "; echo 41");
  REQUIRE(slurm.start().exit_code == 0);
  const std::string given = read_file(slurm.box.folder / "given");
  CHECK_THAT(given, Contains("ALPHAKERNEL_DB") && Contains("--parsable") && !Contains("sesame"));
  struct stat info = {};
  REQUIRE(::stat(slurm.job_folder().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  REQUIRE(::stat((slurm.box.folder / "ak.db-session-1.log").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE(
    "several sessions are the jobs of one array, each with its own database, and status shows them all") {
  OtherSlurm slurm;
  const std::string folder = (slurm.box.folder / "ak.db-array-1").string();
  slurm.box.write("noon.json", R"({"defaults": {"device": "emulator", "arch": "sm_80", "unaudited": true},
      "runs": [{"algorithm": "vector_add", "shape": {"N": 1000}, "seed": 5, "max_evaluations": 3}]})");
  const std::vector<std::string> both{(slurm.box.folder / "noon.json").string(), "--array", "2%3"};
  std::vector<std::string> dry = both;
  dry.insert(dry.end(), {"--dry-run", "--", "--time=8:00:00"});
  const ProgramResult script = slurm.start(dry);
  INFO(script.out << script.err);
  REQUIRE(script.exit_code == 0);
  CHECK_THAT(script.out, Contains("#SBATCH --array=1-4%3\n") && Contains("#SBATCH --time=8:00:00\n") &&
                             Contains(folder + "/%a.db-session-1.log"));
  CHECK(!fs::exists(folder));
  CHECK(!fs::exists(slurm.box.folder / "1"));

  slurm.program("sbatch", "echo 41");
  std::vector<std::string> wanted = both;
  wanted.push_back("--json");
  const ProgramResult started = slurm.start(wanted);
  INFO(started.out << started.err);
  REQUIRE(started.exit_code == 0);
  const Json answer = parse_json(started.out);
  CHECK(answer["job"] == "41");
  REQUIRE(answer["sessions"].size() == 4);
  CHECK(answer["sessions"][3] == Json{{"database", folder + "/4.db"},
                                      {"session", 1},
                                      {"log", folder + "/4.db-session-1.log"},
                                      {"job", "41_4"}});
  const auto of = [&](int number, const std::string& sql) {
    return slurm.box.run({"query", "--format", "csv", "--db", folder + fmt::format("/{}.db", number), sql})
        .out;
  };
  CHECK_THAT(of(2, "SELECT s.name, r.arguments FROM sessions s, session_searches r"),
             Contains("noon-2") && Contains("--seed=5") && Contains("/2/vector_add.cu"));
  CHECK_THAT(of(4, "SELECT s.name, r.arguments FROM sessions s, session_searches r"),
             Contains("noon-4") && Contains("--seed=6") && Contains("/4/vector_add.cu"));

  slurm.program(
      "squeue",
      R"(for word; do case $word in --jobs=*) echo "${word#--jobs=}|RUNNING|None|0:01|1:00|n1";; esac; done)");
  const ProgramResult all = slurm.session({"status"});
  INFO(all.out << all.err);
  for (const char* words : {"night-1: queued", "noon-2: queued", "night-3: queued", "noon-4: queued",
                            "Slurm job 41_1: RUNNING", "Slurm job 41_4: RUNNING"})
    CHECK_THAT(all.out, Contains(words));
  CHECK_THAT(slurm.session({"status", "--all"}).out, Contains("noon-4"));
  check_error(slurm.session({"resume", "1", "--db", folder + "/3.db"}), ExitCode::usage,
              "job 41_3 of session 1 is in the queue: RUNNING");

  // A job runs its own session alone, and merges it into the database of the array.
  slurm.box.environment["SLURM_TASKS_PER_NODE"] = "1";
  slurm.box.environment["SLURM_JOB_ID"] = "43";
  slurm.box.environment["SLURM_ARRAY_JOB_ID"] = "41";
  slurm.box.environment["SLURM_ARRAY_TASK_ID"] = "2";
  const auto job = [&](const std::string& database) {
    return slurm.session({"job", "1", "--array", "--device=emulator", "--db=" + folder + "/" + database});
  };
  check_error(job("3.db"), ExitCode::usage, "job 41_2 does nothing: session 1 is that of job 41_3");
  REQUIRE(slurm.session({"stop", "1", "--db", folder + "/2.db"}).exit_code != 0);  // there is no scancel
  slurm.program("scancel", "[ \"$1\" = 41_2 ]");
  CHECK_THAT(slurm.session({"stop", "1", "--db", folder + "/2.db"}).out, Contains("job 41_2 is cancelled"));
  CHECK_THAT(job("2.db").err, Contains("nothing is left to do"));
}

TEST_CASE("all sessions of an array are stopped together, and one that cannot be stopped keeps no other") {
  OtherSlurm slurm;
  slurm.program("sbatch", "echo 41");
  const ProgramResult started = slurm.start({"--array", "3"});
  REQUIRE(started.exit_code == 0);
  CHECK_THAT(started.out, Contains("session stop --db") && Contains("--array 1"));
  slurm.program(
      "squeue",
      R"(for word; do case $word in --jobs=*) echo "${word#--jobs=}|PENDING|Priority|0:00|1:00|";; esac; done)");
  slurm.program("scancel", "[ \"$1\" != 41_2 ]");
  const ProgramResult stopped = slurm.session({"stop", "--array", "1"});
  INFO(stopped.out << stopped.err);
  CHECK(stopped.exit_code == code(ExitCode::environment));
  CHECK_THAT(stopped.out, Contains("job 41_1 is cancelled") && Contains("job 41_3 is cancelled"));
  CHECK_THAT(stopped.err, Contains("ak.db-array-1/2.db: job 41_2 was not cancelled"));
  const ProgramResult all = slurm.session({"status"});
  CHECK_THAT(all.out, Contains("-1: stopped") && Contains("-2: queued") && Contains("-3: stopped"));
  check_error(slurm.session({"stop", "--array", "2"}), ExitCode::usage,
              "1 arrays of sessions, and no array 2");
  check_error(slurm.session({"stop"}), ExitCode::usage, "give the number of a session, or --array");
  check_error(slurm.session({"stop", "1", "--array", "1"}), ExitCode::usage, "give the number of a session");
}

TEST_CASE("the sessions of an array that sbatch did not take can be resumed one by one") {
  OtherSlurm slurm;
  check_error(slurm.start({"--array", "2"}), ExitCode::environment,
              "each again with: alphakernel session resume 1 --db");
  const std::string second = (slurm.box.folder / "ak.db-array-1/2.db").string();
  CHECK_THAT(slurm.session({"status"}).out, Contains("night-2: failed"));
  slurm.program("sbatch", "echo 57");
  CHECK_THAT(slurm.session({"resume", "1", "--db", second}).out, Contains("session 1 is job 57"));
  REQUIRE(slurm.start({"--array", "1"}).exit_code == 0);
  CHECK(fs::exists(slurm.box.folder / "ak.db-array-2/1.db"));
  check_error(slurm.start({"--array", "many"}), ExitCode::usage, "such as 8%2");
  slurm.box.write("gpus.json", R"({"runs": [{"algorithm": "vector_add"}]})");
  check_error(slurm.start({(slurm.box.folder / "gpus.json").string()}), ExitCode::usage,
              "gpus: one array has the CPU device or GPUs");
}

TEST_CASE("what cannot be a job is refused before anything is kept") {
  OtherSlurm slurm;
  slurm.program("sbatch", "echo 41");
  check_error(slurm.start({"--", "--array=0-3"}), ExitCode::usage, "sbatch's option --array");
  check_error(slurm.start({"--foreground"}), ExitCode::usage, "--foreground runs a session here");
  check_error(slurm.session({"start", (slurm.box.folder / "night.json").string(), "--array=2"}),
              ExitCode::usage, "give --slurm, too");
  check_error(slurm.session({"start", (slurm.box.folder / "night.json").string(), "--dry-run"}),
              ExitCode::usage, "give --slurm, too");
  check_error(slurm.start({"--merge-into", (slurm.box.folder / "ak.db").string()}), ExitCode::usage,
              "it is the session's own database");
  check_error(slurm.start({"--merge-into", (slurm.box.folder / "none/all.db").string()}), ExitCode::usage,
              "there is no folder");
  slurm.box.write("other.db", "no database");
  check_error(slurm.start({"--merge-into", (slurm.box.folder / "other.db").string()}), ExitCode::database,
              "is not a database");
  CHECK_THAT(slurm.session({"status"}).err, Contains("there is no"));
  slurm.box.write("ak.db-session-1-slurm", "a file in the place of the folder");
  check_error(slurm.start(), ExitCode::output, "cannot make the folder");
}

TEST_CASE("a session's rows are added to another database when it ends, and once") {
  OtherSlurm slurm;
  const std::string home = (slurm.box.folder / "all.db").string();
  const ProgramResult run =
      slurm.session({"start", (slurm.box.folder / "night.json").string(), "--foreground", "--merge-into",
                     home, "--output-folder", slurm.box.folder.path().string()});
  INFO(run.out << run.err);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.out, Contains("merged into " + home));
  const std::string count = "SELECT count(*) FROM evaluations";
  const auto rows = [&] { return slurm.box.run({"query", "--format", "csv", "--db", home, count}).out; };
  const std::string merged = rows();
  CHECK_THAT(merged, Contains(slurm.box.query(count)));
  CHECK(slurm.session({"resume", "1"}).exit_code == 0);
  CHECK(rows() == merged);
}

}  // namespace
