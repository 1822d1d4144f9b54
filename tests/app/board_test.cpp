// SPDX-License-Identifier: Apache-2.0
// Boards without a search: figures, manifests, what a folder keeps.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "app/board/blank_kernel.h"
#include "app/board/board_figures.h"
#include "app/board/board_folder.h"
#include "app/board/board_judge.h"
#include "app/board/board_manifest.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/plan/candidate.h"
#include "core/text/file.h"
#include "tests/support/temporary_folder.h"

using namespace ak;
using namespace ak::app;
using Catch::Contains;

namespace {

BoardSpeedup shape(double speedup, double low, double high, double weight = 1) {
  return {.speedup = speedup, .weight = weight, .low = low, .high = high};
}

JudgedTask right(double speedup, double low, double high) {
  return {.correct = true, .speedup = shape(speedup, low, high)};
}

TEST_CASE("the speed-up of a task is the weighted geometric mean, with an interval that many shapes narrow") {
  const std::vector<BoardSpeedup> two{shape(2, 1, 4), shape(8, 4, 16)};
  const auto mean = mean_speedup(two);
  REQUIRE(mean);
  CHECK(mean->speedup == Approx(4));
  // Both have a half width of a factor 2; that of the mean is 2 to the power of 1/sqrt(2).
  CHECK(*mean->low == Approx(4 / std::pow(2, std::sqrt(0.5))));
  CHECK(*mean->high == Approx(4 * std::pow(2, std::sqrt(0.5))));
  const std::vector<BoardSpeedup> weighted{shape(2, 1, 4, 3), shape(32, 16, 64, 1)};
  CHECK(mean_speedup(weighted)->speedup == Approx(4));
  CHECK_FALSE(mean_speedup({}));
}

TEST_CASE("a speed-up with a shape that took no turns has no interval") {
  const std::vector<BoardSpeedup> mixed{shape(2, 1.9, 2.1),
                                        {.speedup = 2, .weight = 1, .low = {}, .high = {}}};
  const auto mean = mean_speedup(mixed);
  CHECK(mean->speedup == Approx(2));
  CHECK_FALSE(mean->low);
}

TEST_CASE("fast_p is the share of all tasks that are correct and at least p times as fast") {
  const std::vector<JudgedTask> tasks{right(2.0, 1.9, 2.1),
                                      right(1.02, 0.98, 1.06),
                                      right(0.7, 0.6, 0.85),
                                      {.correct = true, .speedup = {}},
                                      {}};
  struct Row {
    double p;
    std::size_t fast, least, most;
  };
  const std::vector<Row> rows{{0, 4, 4, 4}, {0.8, 2, 2, 3}, {1, 2, 1, 2}, {1.5, 1, 1, 1}, {2, 1, 0, 1}};
  for (const Row& row : rows) {
    const FastShare share = fast_share(tasks, row.p);
    INFO("p = " << row.p);
    CHECK(share.tasks == 5);
    CHECK(share.fast == row.fast);
    CHECK(share.least == row.least);
    CHECK(share.most == row.most);
    CHECK(share.share() == Approx(static_cast<double>(row.fast) / 5));
  }
  CHECK(fast_share({}, 1).share() == 0);
}

TEST_CASE("what is wrong with the manifest of a board is said with its place") {
  const ak::testing::TemporaryFolder folder;
  const std::string head = R"({"name": "mine", "question": "How fast?", )";
  struct Row {
    std::string text, words;
  };
  const std::vector<Row> rows{
      {"{", "not JSON"},
      {R"({"name": "other", "question": "?", "tasks": []})", "name: expected the name of the file"},
      {head + R"("tasks": []})", "tasks: expected at least one task"},
      {head + R"("tasks": [{}]})", "tasks[0]: expected 'file' or 'algorithm'"},
      {head + R"("tasks": [{"file": "../a.py"}]})", "tasks[0].file: expected a path below"},
      {head + R"("tasks": [{"file": "a.py"}, {"file": "A.py"}]})", "another task is called 'a'"},
      {head + R"("tasks": [{"file": "a.py", "device": "cuda"}]})", "a board says this itself"},
      {head + R"("task": []})", "unknown key"},
      {R"({"format": 2, "name": "mine", "question": "?"})", "update AlphaKernel"}};
  for (const Row& row : rows) {
    write_file_atomically(folder / "mine.json", row.text);
    INFO(row.text);
    CHECK_THROWS_WITH(read_board_manifest(folder / "mine.json"), Contains(row.words));
  }
  CHECK_THROWS_WITH(find_board_manifest("kernelbench_levl1"), Contains("did you mean 'kernelbench_level1'"));
}

TEST_CASE("the shipped boards have a way for their tasks") {
  const auto board = [](const char* name) { return read_board_manifest(find_board_manifest(name)); };
  for (const std::filesystem::path& file : list_board_manifests()) CHECK_NOTHROW(read_board_manifest(file));
  const auto by_template = [](const BoardManifest& manifest) {
    return std::ranges::count_if(manifest.tasks, &ListedTask::served_by_template);
  };
  const BoardManifest level1 = board("kernelbench_level1");
  CHECK(level1.tasks.size() == 100);
  CHECK(by_template(level1) >= 20);
  for (const ListedTask& task : level1.tasks)
    CHECK(task.sha256.empty() != task.served_by_template());  // it serves one text of the file
  CHECK(board("kernelbench_level2").tasks.size() == 50);
  CHECK(board("kernelbench_hard").tasks.size() == 22);
  CHECK_FALSE(board("kernelbench_hard").needs_folder());
  CHECK_FALSE(board("gpu_mode").needs_folder());
  const BoardManifest trimul = board("trimul");
  CHECK_FALSE(trimul.needs_folder());
  CHECK_THAT(own_file_text(trimul, trimul.tasks.front().file), Contains("def ref_kernel"));
}

TEST_CASE("a verdict is one line of who knows the word, of a judge that ended well") {
  const std::string right =
      R"({"compiled": true, "correct": true, "time_us": 5.0, "eager_us": null, "note": "n"})";
  const Json verdict = read_verdict("JUDGED abc " + right + "\n", "abc");
  CHECK(verdict == parse_json(right));
  CHECK(read_verdict(std::string("JUDGED abc {\"other_gpu\": \"H100\", \"correct\": true}\n"), "abc") ==
        Json{{"other_gpu", "H100"}});
  struct Row {
    Result<std::string> written;
    std::string words;
  };
  const std::string line = "JUDGED abc " + right + "\n";
  const auto timed = [](const std::string& time) {
    return R"(JUDGED abc {"compiled": true, "correct": true, "time_us": )" + time + "}\n";
  };
  const std::vector<Row> rows{
      {std::string(), "ended without a verdict"},
      {InputError{"ended with exit code 1"}, "ended with exit code 1"},
      {InputError{"ended with exit code 1: Traceback:\n  File " + std::string(600, 'x') + "\nOSError: why\n"},
       "ended with exit code 1: OSError: why"},
      {line + line, "not one verdict"},
      {"a word before\n" + line, "not one verdict"},
      {"JUDGED " + right + "\n", "not one verdict"},
      {"JUDGED xyz " + right + "\n", "not one verdict"},
      {std::string("JUDGED abc [1]\n"), "cannot be read"},
      {std::string("JUDGED abc {\"compiled\": false, \"correct\": true}\n"), "cannot be read"},
      {timed("null"), "did not time it"},
      {timed("0"), "cannot be read"},
      {timed("-1"), "cannot be read"},
      {timed("1e999"), "cannot be read"},
      {timed("NaN"), "cannot be read"},
      {timed("\"fast\""), "cannot be read"}};
  for (const Row& row : rows) {
    const Json refused = read_verdict(row.written, "abc");
    INFO(refused.dump());
    REQUIRE(refused.size() == 1);
    CHECK_THAT(refused["failure"].get<std::string>(), Contains(row.words));
  }
}

TEST_CASE("a blank kernel takes what its problem has, as every candidate does") {
  const codegen::Problem problem = codegen::load_problem(codegen::find_problem("gemm"));
  const auto instance =
      codegen::instantiate(problem, codegen::choose_params(problem, {{"dtype", "float16"}}));
  const std::string source = blank_kernel(*instance);
  const Result<Candidate> blank = parse_candidate("blank", source);
  REQUIRE(blank);
  REQUIRE(blank.value().plan.launches.size() == 1);
  CHECK(blank.value().plan.launches.front().arguments.size() ==
        instance->definition.inputs.size() + instance->definition.outputs.size());
  CHECK_THAT(source, Contains("#include <cuda_fp16.h>") && Contains("const __half* a_in"));
}

TEST_CASE("a board's folder keeps what is written, and takes no other board") {
  const ak::testing::TemporaryFolder place;
  BoardFolder folder = open_board_folder(place / "b", "mine");
  CHECK(folder.tasks.empty());
  folder.database = "/data/a.db";
  folder.device = "NVIDIA H200 sm_90a";
  TaskState task;
  task.name = "one";
  task.content = "0123";
  task.runs.push_back(
      {.session = "00ff", .content = "0123", .way = "file/search", .device = folder.device, .problem = "p"});
  task.verdict = {{"correct", true}};
  task.baselines_of = {{"variant", 7}};
  folder.tasks.push_back(task);
  save(folder);
  BoardFolder again = open_board_folder(place / "b", "mine");
  REQUIRE(again.find("one") != nullptr);
  CHECK(again.find("one")->runs.front().session == "00ff");
  CHECK(again.find("one")->verdict["correct"] == true);
  CHECK(again.find("one")->baselines_of["variant"] == 7);
  CHECK(again.find("two") == nullptr);
  CHECK(again.device == folder.device);
  CHECK_THROWS_WITH(open_board_folder(place / "b", "other"), Contains("another board"));
  write_file_atomically(place / "b" / "board.json", R"({"format": 1, "name": "mine"})");
  CHECK_THROWS_WITH(open_board_folder(place / "b", "mine"), Contains("board.json"));
}

}  // namespace
