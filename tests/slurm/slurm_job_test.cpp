// SPDX-License-Identifier: Apache-2.0
// What is read of Slurm's programs, and what is submitted to it.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdint>

#include "app/setup/arguments.h"
#include "app/slurm/batch_script.h"
#include "app/slurm/job_facts.h"
#include "app/slurm/job_state.h"
#include "app/slurm/session_array.h"
#include "app/slurm/session_job.h"
#include "app/slurm/slurm_client.h"
#include "core/error.h"

namespace ak::app {
namespace {

using Catch::Contains;

BatchJob job_with(std::vector<std::string> options) {
  return {.database = "/data/it's 100%/ak.db",
          .session = 7,
          .log = "/data/it's 100%/ak.db-session-7.log",
          .kind = DeviceKind::emulator,
          .options = std::move(options)};
}

TEST_CASE("the tasks of a job's nodes are read in Slurm's short form, and no other") {
  CHECK(tasks_in("2(x3),1") == std::vector<int>{2, 2, 2, 1});
  CHECK(tasks_in("8") == std::vector<int>{8});
  CHECK(tasks_in("1(x256)")->size() == 256);
  for (const char* text : {"", "0", "2(x", "2(x3", "2(x3)1", "2,", ",2", "-1", "2(x0)", "257", "1(x257)",
                           "128(x3)", "2 ", "99999999999999999999", "1(x99999999999999999999)"})
    CHECK(!tasks_in(text));
}

TEST_CASE("the state of a job is read from squeue's and sacct's line of it, whatever is printed around") {
  const auto waits = job_state_in_squeue("12", "slurm: welcome\n12|PENDING|Priority|0:00|8:00:00|\n");
  REQUIRE(waits);
  CHECK(waits->state == "PENDING");
  CHECK(waits->in_queue == true);
  CHECK(job_text(*waits) == "  Slurm job 12: PENDING (Priority), 0:00 of 8:00:00\n");
  const auto runs = job_state_in_squeue("12", "12|RUNNING|None|1-02:03:04|UNLIMITED|gpu[1-4]");
  REQUIRE(runs);
  CHECK(job_text(*runs) == "  Slurm job 12: RUNNING, 1-02:03:04 of UNLIMITED, on gpu[1-4]\n");
  CHECK(to_json(*runs)["reason"].is_null());
  CHECK(job_state_in_squeue("12", "12|TIMEOUT|TimeLimit|8:00:00|8:00:00|gpu1\n")->in_queue == false);
  const auto ended = job_state_in_sacct("12", "12|CANCELLED by 1000|0:15|00:10:00|gpu1\n");
  REQUIRE(ended);
  CHECK(job_text(*ended) == "  Slurm job 12: CANCELLED by 1000 (exit code 0:15), 00:10:00, on gpu1\n");
  for (const char* noise : {"", "\n\n", "12", "12|", "12|RUNNING", "112|RUNNING|None|0:01|1:00|n1",
                            "12|running|None|0:01|1:00|n1", "12||None|0:01|1:00|n1",
                            "12|RUNNING|None|0:01|1:00|n1|more", " 12|RUNNING|None|0:01|1:00|n1"})
    CHECK(!job_state_in_squeue("12", noise));
  const auto hostile =
      job_state_in_squeue("12", "12|RUNNING|\x1b[31mred|0:01|1:00|" + std::string(5'000, 'n'));
  REQUIRE(hostile);
  CHECK(hostile->reason == "?[31mred");
  CHECK(hostile->nodes.size() < 100);
}

TEST_CASE(
    "the script of a job has the user's options last, and quotes what a shell or sbatch would take apart") {
  const std::string script = batch_script(job_with({"--nodes=4", "--comment=two words"}));
  INFO(script);
  CHECK_THAT(script,
             Contains("#SBATCH --output=\"/data/it's 100%%/ak.db-session-7.log\" --open-mode=append\n") &&
                 Contains("#SBATCH --requeue\n") && Contains("#SBATCH --signal=B:USR1@120\n") &&
                 Contains("#SBATCH --nodes=4 \"--comment=two words\"\nexec ") &&
                 Contains("session job 7 --device=emulator --db='/data/it'\\''s 100%/ak.db'\n"));
}

TEST_CASE("the script of an array runs in each job the session of its own database") {
  const std::string script = batch_script(BatchArray{.folder = "/data/it's 100%/ak.db-array-2",
                                                     .size = 6,
                                                     .at_once = 2,
                                                     .kind = DeviceKind::emulator,
                                                     .options = {"--nodes=4"}});
  INFO(script);
  CHECK_THAT(script,
             Contains("#SBATCH --job-name=alphakernel-ak.db-array-2\n") &&
                 Contains("#SBATCH --output=\"/data/it's 100%%/ak.db-array-2/%a.db-session-1.log\" ") &&
                 Contains("#SBATCH --array=1-6%2\n") && Contains("#SBATCH --requeue\n") &&
                 Contains("#SBATCH --nodes=4\nexec ") &&
                 Contains("session job 1 --array --device=emulator "
                          "--db='/data/it'\\''s 100%/ak.db-array-2'\"/$SLURM_ARRAY_TASK_ID.db\"\n"));
}

TEST_CASE("a database's name is one word of sbatch's, whatever it looks like") {
  const std::string script = batch_script(BatchArray{.folder = "/data/my runs --x=1 'a'.db-array-2",
                                                     .size = 6,
                                                     .at_once = 0,
                                                     .kind = DeviceKind::emulator,
                                                     .options = {}});
  INFO(script);
  CHECK_THAT(script,
             Contains("\n#SBATCH \"--job-name=alphakernel-my runs --x=1 'a'.db-array-2\"\n") &&
                 Contains("\n#SBATCH --output=\"/data/my runs --x=1 'a'.db-array-2/%a.db-session-1.log\" "));
}

TEST_CASE("--array is a number of jobs, and perhaps how many of them may run at once") {
  CHECK(array_wish_from("8").repeats == 8);
  CHECK(array_wish_from("8").at_once == 0);
  CHECK(array_wish_from("8%2").at_once == 2);
  CHECK(array_wish_from("1000").repeats == 1000);
  for (const char* text : {"", "0", "-1", "1001", "8%", "8%0", "%2", "8%2%2", "1-8", "8 ", "8.5"})
    CHECK_THROWS_WITH(array_wish_from(text), Contains("expected a number of jobs from 1 to 1000"));
}

TEST_CASE("the jobs of an array differ in their names, seeds and files") {
  db::Session session;
  session.name = "night";
  session.runs.emplace_back().arguments = {"--seed=7", "--output=/out/k.cu", "--record", "r.json"};
  const db::Session job = job_of_array(session, 3, 2);
  CHECK(job.name == "night-3");
  CHECK(job.runs.front().arguments == Arguments{"--output=/out/3/k.cu", "--record=3/r.json", "--seed=9"});
  for (const Arguments& output : {Arguments{"-o", "k.cu"}, Arguments{"-ok.cu"}}) {
    session.runs.front().arguments = output;
    session.runs.front().arguments.emplace_back("--seed=7");
    // A long name, since "=" would be part of what follows -o.
    CHECK(job_of_array(session, 3, 2).runs.front().arguments == Arguments{"--output=3/k.cu", "--seed=9"});
  }
  session.runs.front().arguments = {fmt::format("--seed={}", INT64_MAX)};
  CHECK(job_of_array(session, 1, 1).runs.front().arguments == Arguments{"--seed=0"});
}

TEST_CASE("the number of an array's job has two parts") {
  for (const char* number : {"41", "41_3", "4294967295"}) CHECK(is_job_number(number));
  for (const char* text : {"", "_", "41_", "_3", "41_3_1", "41_[1-3]", "41-3", "12345678901", "4 1"})
    CHECK_FALSE(is_job_number(text));
}

TEST_CASE("options of sbatch that a session cannot have are refused by name") {
  struct Row {
    std::string option, words;
  };
  for (const Row& row : {Row{"--array=0-3", "--array"}, Row{"-a0-3", "--array"}, Row{"--arr=0-3", "--array"},
                         Row{"--signal=USR1@60", "--signal=B:USR1@SECONDS"}, Row{"--wait", "--wait"},
                         Row{"--wrap=true", "--wrap"}, Row{"-o", "--output"}, Row{"--test-only", "--dry-run"},
                         Row{"--comment=a\nb", "control characters"}, Row{"--comment=\"", "quotation marks"},
                         Row{"nodes=4", "expected an option of sbatch"}}) {
    INFO(row.option);
    CHECK_THROWS_WITH(batch_script(job_with({row.option})), Contains(row.words));
  }
  check_sbatch_options({"-N", "4", "--time=8:00:00", "--wait-all-nodes=1", "--signal=B:USR1@600"});
}

TEST_CASE("the searches of a job have the devices of its workers, all of one kind") {
  const auto session_of = [](const std::vector<Arguments>& runs) {
    db::Session session;
    for (const Arguments& arguments : runs) {
      db::SessionSearch run;
      run.name = "one";
      run.arguments = arguments;
      session.runs.push_back(run);
    }
    return session;
  };
  db::Session session = session_of({{"--device=emulator", "--seed=1"}, {"--device", "emulator"}});
  CHECK(take_devices(session) == DeviceKind::emulator);
  CHECK(session.runs[0].arguments == Arguments{"--seed=1"});
  CHECK(session.runs[1].arguments.empty());
  db::Session gpus = session_of({{}, {"--device=cuda:all"}});
  CHECK(take_devices(gpus) == DeviceKind::cuda);
  struct Row {
    std::vector<Arguments> runs;
    std::string words;
  };
  for (const Row& row :
       {Row{{{"--device=none"}}, "expected cuda or emulator"}, Row{{{"--device=cuda:1"}}, "--device cuda:1"},
        Row{{{"--pool=p.json"}}, "--pool"}, Row{{{"--deterministic"}}, "--deterministic"},
        Row{{{}, {"--device=emulator"}}, "beside GPUs"}}) {
    db::Session refused = session_of(row.runs);
    CHECK_THROWS_WITH(take_devices(refused), Contains("search 'one'") && Contains(row.words));
  }
}

}  // namespace
}  // namespace ak::app
