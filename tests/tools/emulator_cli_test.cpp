// SPDX-License-Identifier: Apache-2.0
// The CPU device as a user meets it: real binary, real files, whole runs, no GPU needed.
#include <catch2/catch.hpp>
#include <csignal>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/daily_sample.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

std::vector<std::string> generate_on_emulator(const Sandbox& box, const std::vector<std::string>& extra) {
  std::vector<std::string> arguments{
      "generate", "--device", "emulator", "--seed", "1", "--output", (box.folder / "k.cu").string()};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return arguments;
}

/// A vector_add candidate of one block of 256 threads for every 256 elements.
std::string vector_add(const std::string& body) {
  return R"cu(/* alphakernel
{"params": {"dtype": "float32"},
 "launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256],
               "args": ["a", "b", "c", {"i64": "N"}]}]}
*/
#include <cassert>
extern "C" __global__ void k(const float* a, const float* b, float* c, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
)cu" + body +
         "\n}\n";
}
constexpr int kBodyLine = 9;

struct Wrong {
  std::string body, status, kind;
  std::vector<std::string> words;
};

}  // namespace

TEST_CASE(
    "on the emulator a run ends with a verified kernel, and everything it shows calls its costs estimates") {
  Sandbox box;
  const ProgramResult result =
      box.run({"generate", "--algorithm", "vector_add", "--device", "emulator", "--max-evaluations", "6",
               "--seed", "1", "--output", (box.folder / "k.cu").string()});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.err.find("not GPU times") != std::string::npos);
  CHECK(
      result.err.find("ranked by times that sm_90a_h200 predicts for NVIDIA H200: predicted, not measured") !=
      std::string::npos);
  CHECK(result.err.find("best predicted") != std::string::npos);
  CHECK(result.err.find("(not measured)") != std::string::npos);
  CHECK(result.out.find("predicted, not measured: ") != std::string::npos);
  CHECK(result.out.find("verified") != std::string::npos);
  CHECK(result.out.find("emulated cost") != std::string::npos);
  CHECK(result.out.find("GB/s") == std::string::npos);
  const std::string explanation = read_file(box.folder / "k.explanation.md");
  CHECK(explanation.find("not a GPU time") != std::string::npos);
  CHECK(explanation.find("What was checked") != std::string::npos);
  CHECK(explanation.find("cold L2 on") == std::string::npos);
  CHECK(explanation.find("Predicted, not measured, for sm_90a by the model sm_90a_h200") !=
        std::string::npos);
  const Json json = parse_json(read_file(box.folder / "k.result.json"));
  CHECK(json["executed"] == true);
  CHECK(json["emulated"] == true);
  CHECK(json["best"]["status"] == "ok");
  CHECK(json["best"]["score_ns"].get<double>() > 0);
  const Json& predicted = json["best"]["predicted"];
  CHECK(predicted["note"] == "predicted, not measured");
  CHECK(predicted["low_ns"] < predicted["score_ns"]);
  CHECK(predicted["workloads"][0]["workload"] == "n67108864");
  CHECK(box.query(
            "SELECT count(*) = (SELECT count(*) FROM evaluations e JOIN proposals q ON q.id = e.proposal_id "
            "WHERE e.status IN ('ok', 'duplicate') AND q.arm NOT IN ('held_out', 'examination')) FROM "
            "predictions") == "1\r\n");
  CHECK(json["best"]["measurements"][0]["method"] == "emulator");
  CHECK(json["held_out"]["passed"] == true);
  const ProgramResult stored = box.run({"query", "--format", "csv",
                                        "SELECT DISTINCT d.kind, m.method FROM measurements m JOIN "
                                        "evaluations e ON e.id = m.evaluation_id JOIN devices "
                                        "d ON d.id = e.device_id"});
  CHECK(stored.out.find("emulator,emulator") != std::string::npos);
  const ProgramResult again = box.run({"evaluate", (box.folder / "k.cu").string(), "--device", "emulator"});
  INFO(again.out << again.err);
  CHECK(again.exit_code == 0);
  CHECK(again.out.find("emulated cost") != std::string::npos);
}

TEST_CASE("vector additions of the same cost are distinguished by the times that are predicted of them") {
  Sandbox box;
  const ProgramResult result =
      box.run({"generate", "--algorithm", "vector_add", "--device", "emulator", "--max-evaluations", "6",
               "--seed", "1", "--output", (box.folder / "k.cu").string()});
  REQUIRE(result.exit_code == 0);
  CHECK(box.query("SELECT count(DISTINCT round(predicted_ns)) > 3 FROM predictions") == "1\r\n");
  const Json json = parse_json(read_file(box.folder / "k.result.json"));
  CHECK(box.query("SELECT min(predicted_ns) > 100000 FROM predictions") ==
        "1\r\n");  // of 67,108,864 elements
  CHECK(json["leaders"][0]["predicted"]["score_ns"] <= json["leaders"][1]["predicted"]["score_ns"]);
}

TEST_CASE("without a model of the target costs rank, and the run says so") {
  for (const auto& [arguments, reason] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--arch", "sm_120"}, "there is no time model of sm_120"}, {{"--no-prior"}, ""}}) {
    Sandbox box;
    std::vector<std::string> all{"--algorithm", "vector_add", "--max-evaluations", "2"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const ProgramResult result = box.run(generate_on_emulator(box, all));
    INFO(result.out << result.err);
    REQUIRE(result.exit_code == 0);
    CHECK(result.err.find(reason) != std::string::npos);
    CHECK(result.err.find("best emulated cost") != std::string::npos);
    const Json json = parse_json(read_file(box.folder / "k.result.json"));
    CHECK(json["best"]["predicted"].is_null());
    CHECK(json["ranking"].get<std::string>().find(reason) != std::string::npos);
    CHECK(box.query("SELECT count(*) FROM predictions") == "0\r\n");
  }
}

TEST_CASE("a param that is called as an option is the problem's mistake, and no bug") {
  Sandbox box;
  const std::filesystem::path folder = box.folder / "mine";
  std::filesystem::copy(std::string(AK_SOURCE_DIR) + "/templates/vector_add", folder,
                        std::filesystem::copy_options::recursive);
  Json problem = parse_json(read_file(folder / "problem.json"));
  problem["params"]["cache"] = {{"type", "boolean"}, {"default", false}, {"help", "whether it is cached"}};
  write_file_atomically(folder / "problem.json", problem.dump());
  const ProgramResult result =
      box.run(generate_on_emulator(box, {"--problem", folder.string(), "--unaudited"}));
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::bad_input));
  CHECK(result.err.find("a param of the problem has the name of an option of this command") !=
        std::string::npos);
}

TEST_CASE("on the emulator a short run of every template ends with a verified kernel and honest rows") {
  const std::vector<std::string> runs[] = {{"vector_add", "--dtype", "fp16"},
                                           {"reduce_sum", "--dtype", "bf16"},
                                           {"softmax", "--dtype", "fp32"},
                                           {"layernorm", "--dtype", "fp16"},
                                           {"rmsnorm", "--dtype", "bf16"},
                                           {"layernorm", "--dtype", "bf16", "--any_epsilon"},
                                           {"activation", "--dtype", "fp16"},
                                           {"transpose", "--dtype", "bf16"},
                                           {"gemm", "--dtype", "bf16"},
                                           {"transpose_inplace", "--dtype", "fp16"},
                                           {"flash_attention", "--dtype", "bf16", "--head_dim", "32"},
                                           {"attention_decode", "--dtype", "fp16", "--paged"},
                                           {"attention_backward", "--dtype", "bf16", "--head_dim", "64"},
                                           {"attention_backward", "--head_dim", "64", "--causal",
                                            "--any_order", "--template", "attention_backward_one_pass.cu"},
                                           {"attention_block_sparse", "--dtype", "bf16", "--block", "64"},
                                           {"gemm", "--dtype", "int8"},
                                           {"copy", "--dtype", "bf16"},
                                           {"gemm", "--dtype", "fp32"},
                                           {"grouped_gemm", "--dtype", "bf16"},
                                           {"block_sparse_gemm", "--block", "64"},
                                           {"moe_swiglu", "--dtype", "fp16"},
                                           {"linear_w4a16", "--dtype", "fp16"},
                                           {"gemm", "--dtype", "e4m3", "--scales", "rows_and_columns"},
                                           {"conv2d", "--dtype", "bf16"},
                                           {"attention_mla_decode", "--dtype", "bf16"},
                                           {"scan", "--dtype", "fp32"},
                                           {"radix_sort", "--dtype", "uint32"},
                                           {"histogram", "--dtype", "int32"},
                                           {"fft", "--dtype", "fp32"},
                                           {"selective_scan", "--dtype", "bf16"},
                                           {"adamw", "--dtype", "bf16"}};
  const std::string evaluations = std::getenv("AK_SOAK_ITERATIONS") != nullptr ? "3" : "1";
  for (std::size_t i = 0; i < std::size(runs); ++i) {
    if (!drawn_today(i, std::size(runs))) continue;
    const std::vector<std::string>& run = runs[i];
    Sandbox box;
    std::vector<std::string> arguments{"--max-evaluations", evaluations, "--json", "--algorithm"};
    arguments.insert(arguments.end(), run.begin(), run.end());
    const ProgramResult result = box.run(generate_on_emulator(box, arguments));
    INFO(run.front() << "\n" << result.out << result.err);
    REQUIRE(result.exit_code == 0);
    const Json json = parse_json(result.out);
    CHECK(json["emulated"] == true);
    CHECK(json["best"]["status"] == "ok");
    CHECK(json["failed"] == 0);
    CHECK(json["best"]["checks"].size() >= 4 * 5);  // shapes and distributions
    CHECK(box.query("SELECT DISTINCT device_kind, score_us IS NULL, emulated_cost_us > 0 FROM leaderboard") ==
          "emulator,1,1\r\n");
    CHECK(box.query("SELECT DISTINCT method, latency_ms, memory_bandwidth_gbs, speedup_vs_naive, "
                    "emulated_cost_us > 0 FROM benchmark_results WHERE method IS NOT NULL") ==
          "emulator,,,,1\r\n");
    CHECK(box.query("SELECT best_us IS NULL, best_emulated_cost_us > 0 FROM experiments") == "1,1\r\n");
  }
}

TEST_CASE("templates of gemm are right for few rows, for ragged lines, and where parts of k meet") {
  const std::vector<std::string> runs[] = {
      {"gemm_skinny.cu", "M=9,N=136,K=200"},
      {"gemm_skinny.cu", "M=5,N=67,K=35", "--b_layout", "column"},
      {"gemm_stream.cu", "M=2,N=72,K=104", "--dtype", "int8"},
      {"gemm_stream.cu", "M=3,N=35,K=77", "--b_layout", "column"},
      {"gemm_mma.cu", "M=65,N=67,K=69"},
      {"gemm_mma.cu", "M=66,N=70,K=74", "--a_layout", "column"},
      {"gemm_simt.cu", "M=61,N=67,K=53", "--dtype", "float32"},
  };
  for (std::size_t i = 0; i < std::size(runs); ++i) {
    if (!drawn_today(i, std::size(runs))) continue;
    const std::vector<std::string>& run = runs[i];
    Sandbox box;
    std::vector<std::string> arguments{"evaluate",    AK_SOURCE_DIR "/templates/gemm/" + run[0],
                                       "--algorithm", "gemm",
                                       "--device",    "emulator",
                                       "--arch",      "sm_90a",
                                       "--shape",     run[1]};
    arguments.insert(arguments.end(), run.begin() + 2, run.end());
    const ProgramResult result = box.run(arguments);
    INFO(run[0] << " " << run[1] << "\n" << result.out << result.err);
    CHECK(result.exit_code == 0);
  }
}

TEST_CASE("a wrong kernel's line, thread, buffer and advice reach the user, the JSON and the database") {
  const std::string sum = "if (i < n) c[i] = a[i] + b[i];";
  const std::vector<Wrong> kernels{
      {"c[i] = a[i] + b[i];", "memory_error", "out_of_bounds", {"input 'a'", "thread (1,0,0)", "byte 4"}},
      {"if (i == 1 && n > 8) { const float2 v = *(const float2*)(a + 1); c[n - 1] = v.x * v.y; } " + sum,
       "memory_error",
       "misaligned",
       {"byte 4 of input 'a'", "8 bytes"}},
      {"if (i < n) c[i] += a[i] + b[i];", "memory_error", "uninitialized_read", {"output 'c'"}},
      {"__shared__ float t[256]; t[threadIdx.x] = 0; __syncthreads(); t[threadIdx.x] = i < n ? a[i] : 0; "
       "if (i < n) c[i] = t[threadIdx.x ^ 32] == 1e30f ? 0 : a[i] + b[i];",
       "race",
       "shared_race",
       {"shared 't'", "barrier between"}},
      {"if (threadIdx.x < 128) __syncthreads(); " + sum, "hang", "barrier_divergence", {"block (0,0,0)"}},
      {"__shared__ volatile int flag; if (threadIdx.x == 64) flag = 0; __syncthreads(); if (threadIdx.x == "
       "0) "
       "while (flag == 0) {} " +
           sum,
       "hang",
       "instruction_budget",
       {"loop"}},
      {"if (i < n) { c[i] = a[i] + b[i]; if (threadIdx.x == 0) { volatile float* one = c; *one = 0; *one = "
       "a[0] + "
       "b[0]; } }",
       "race",
       "global_conflict",
       {"output 'c'", "byte 0"}},
      {"assert(i < 100); " + sum, "launch_error", "assertion", {"i < 100"}},
  };
  Sandbox box;
  for (const Wrong& wrong : kernels) {
    const std::string file = box.write("wrong.cu", vector_add(wrong.body));
    const ProgramResult shown =
        box.run({"evaluate", file, "--algorithm", "vector_add", "--device", "emulator"});
    INFO(wrong.body << "\n" << shown.out << shown.err);
    CHECK(shown.exit_code == code(ExitCode::no_kernel));
    CHECK(shown.out.find(wrong.status + " (gate ") != std::string::npos);
    CHECK(shown.out.find("): wrong.cu:" + std::to_string(kBodyLine) + ":") != std::string::npos);
    CHECK(shown.out.find("To do: ") != std::string::npos);
    for (const std::string& word : wrong.words) CHECK(shown.out.find(word) != std::string::npos);
    const Json json = parse_json(
        box.run({"evaluate", file, "--algorithm", "vector_add", "--device", "emulator", "--json"}).out);
    CHECK(json["record"]["explanation"].get<std::string>().find("To do: ") != std::string::npos);
    const Json details = json["record"]["diagnostics"][0]["details"];
    CHECK(details["kind"] == wrong.kind);
    CHECK(details["first"]["line"] == kBodyLine);
    CHECK(box.query("SELECT diagnostics ->> '$[0].details.kind' FROM evaluations ORDER BY id DESC LIMIT 1") ==
          wrong.kind + "\r\n");
  }
  CHECK(box.query("SELECT count(*) FROM failures WHERE message LIKE 'wrong.cu:9:%'") ==
        std::to_string(2 * kernels.size()) + "\r\n");
}

TEST_CASE("every fault of a kernel is reported, not only the first") {
  Sandbox box;
  const std::string file = box.write("wrong.cu", vector_add("c[i] = a[i] +\n b[i + 1];"));
  const ProgramResult result =
      box.run({"evaluate", file, "--algorithm", "vector_add", "--device", "emulator"});
  INFO(result.out);
  CHECK(result.out.find("input 'a'") != std::string::npos);
  CHECK(result.out.find("  error: wrong.cu:10:") != std::string::npos);
  CHECK(result.out.find("input 'b'") != std::string::npos);
}

TEST_CASE("of a result that is wrong in places the first and the last of them are named") {
  Sandbox box;
  const std::string file =
      box.write("wrong.cu",
                vector_add("if (i < n) c[i] = a[i] + b[i] + (i >= 100 && i < 200 && i < n ? 1.0f : 0.0f);"));
  const ProgramResult result =
      box.run({"evaluate", file, "--algorithm", "vector_add", "--device", "emulator"});
  INFO(result.out);
  CHECK(result.exit_code == 4);
  CHECK(result.out.find("of elements wrong, from c[100] to c[199], with a last index of 100 to 199") !=
        std::string::npos);
}

TEST_CASE("evaluate shows what the emulator counted, by line in its JSON, and keeps it in the database") {
  Sandbox box;
  // Neighbouring threads are 32 elements apart: every access of a warp is its own sector.
  const std::string file =
      box.write("strided.cu", vector_add("const long long j = i / 1024 * 1024 + i % 32 * 32 + i / 32 % 32;\n"
                                         "if (i >= n / 1024 * 1024 && i < n) c[i] = a[i] + b[i];\n"
                                         "if (i < n / 1024 * 1024)\n c[j] = a[j] + b[j];"));
  const ProgramResult shown =
      box.run({"evaluate", file, "--algorithm", "vector_add", "--device", "emulator"});
  INFO(shown.out << shown.err);
  REQUIRE(shown.exit_code == 0);
  CHECK(shown.out.find("14 shapes") != std::string::npos);
  CHECK(shown.out.find("32.00 (least 4.00)") != std::string::npos);
  CHECK(shown.out.find("bank conflicts") != std::string::npos);
  const Json json = parse_json(
      box.run({"evaluate", file, "--algorithm", "vector_add", "--device", "emulator", "--json"}).out);
  bool found = false;
  for (const Json& measurement : json["record"]["measurements"]) {
    if (measurement["workload"] != "n65536" || measurement["role"] != "candidate") continue;
    for (const Json& line : measurement["lines"]) {
      if (line["line"] != kBodyLine + 3) continue;
      found = true;
      CHECK(line["counts"]["flop/f32"] == 65'536);
      CHECK(line["counts"]["global/sectors"] == 3 * 65'536);
    }
  }
  CHECK(found);
  CHECK(box.query(
            "SELECT DISTINCT m.value, m.unit FROM metrics m JOIN workloads w ON w.id = m.workload_id WHERE "
            "w.name = 'n65536' AND m.name = 'global/sectors'") == "196608,sectors\r\n");
}

TEST_CASE("auto without a GPU says in one line that the emulator stands in, and doctor has tried it") {
  Sandbox box;
  box.environment["CUDA_VISIBLE_DEVICES"] = "-1";
  const ProgramResult result =
      box.run({"generate", "--algorithm", "vector_add", "--max-evaluations", "2", "--seed", "1", "--quiet",
               "--output", (box.folder / "k.cu").string()});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK(is_one_line(result.err));
  CHECK(result.err.find("CPU emulator") != std::string::npos);
  const Json parts = parse_json(box.run({"doctor", "--json"}).out)["parts"];
  bool ran = false;
  for (const Json& part : parts) ran = ran || (part["part"] == "CPU device" && part["present"] == true);
  CHECK(ran);
}

TEST_CASE("the emulator stands in for GPUs of every generation") {
  const char* const archs[] = {"sm_75", "sm_80", "sm_90a", "sm_100", "sm_120"};
  for (std::size_t i = 0; i < std::size(archs); ++i) {
    if (!drawn_today(i, std::size(archs))) continue;
    const std::string arch = archs[i];
    Sandbox box;
    const ProgramResult result = box.run(generate_on_emulator(
        box, {"--algorithm", "vector_add", "--dtype", "fp16", "--arch", arch, "--max-evaluations", "1"}));
    INFO(arch << "\n" << result.out << result.err);
    CHECK(result.exit_code == 0);
    CHECK(box.query("SELECT DISTINCT device, arch FROM leaderboard") ==
          "CPU emulator of " + arch + "," + arch + "\r\n");
  }
}

TEST_CASE("Ctrl-C on the emulator keeps the best verified kernel") {
  Sandbox box;
  const ProgramResult result =
      box.run(generate_on_emulator(box, {"--algorithm", "softmax", "--strategy", "exhaustive"}),
              {.number = SIGINT, .after_file = box.folder / "k.cu"});
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::interrupted));
  CHECK(result.out.find("verified") != std::string::npos);
  CHECK(box.query("SELECT status FROM experiments") == "stopped\r\n");
}

TEST_CASE(
    "a run that was killed has lost nothing, and the next one continues with the same database and cache") {
  Sandbox box;
  box.use_own_build_cache();
  const std::vector<std::string> extra{"--algorithm", "vector_add", "--max-evaluations", "200"};
  const ProgramResult killed =
      box.run(generate_on_emulator(box, extra), {.number = SIGKILL, .after_file = box.folder / "k.cu"});
  CHECK(killed.exit_code == 128 + SIGKILL);
  CHECK(box.query("SELECT count(*) > 0 FROM leaderboard") == "1\r\n");
  const ProgramResult again =
      box.run(generate_on_emulator(box, {"--algorithm", "vector_add", "--max-evaluations", "3"}));
  INFO(again.out << again.err);
  CHECK(again.exit_code == 0);
  CHECK(box.query("SELECT max(cache_hit) FROM evaluations WHERE search_id = 2") == "1\r\n");
  CHECK(box.query("SELECT count(*) FROM searches") == "2\r\n");
}

namespace {

/// vector_add with templates of our own, listed shapes 1000 and 4096, and held-out shapes from 1 to 3000.
std::string vector_add_problem(const Sandbox& box, const std::map<std::string, std::string>& templates) {
  const auto folder = box.folder / "sums";
  std::filesystem::create_directory(folder);
  for (const char* name : {"problem.json", "reference.cu"})
    std::filesystem::copy_file(std::string(AK_SOURCE_DIR) + "/templates/vector_add/" + name, folder / name);
  box.write("sums/workloads.jsonl",
            R"({"name": "n1000", "axes": {"N": 1000}, "role": "check", "tier": "emulator"})"
            "\n"
            R"({"name": "n4096", "axes": {"N": 4096}, "role": ["check", "time"], "tier": "emulator"})"
            "\n"
            R"({"name": "any", "axes": {"N": [1, 3000]}, "role": "held_out", "tier": "emulator"})"
            "\n");
  for (const auto& [name, body] : templates) box.write("sums/" + name, vector_add(body));
  return folder.string();
}

const std::string kCheat = "  if (i < n && (n == 1000 || n == 4096)) c[i] = a[i] + b[i];";
const std::string kCorrect = "  if (i < n) c[i] = a[i] + b[i] + 0.0f * a[i * 97 % n];";  // right, and slower

}  // namespace

TEST_CASE("a kernel that is right on every listed shape only leads a search, and does not win it") {
  Sandbox box;
  const std::string folder = vector_add_problem(box, {{"cheat.cu", kCheat}, {"honest.cu", kCorrect}});
  const ProgramResult result = box.run(generate_on_emulator(box, {"--problem", folder}));
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(box.query("SELECT template FROM leaderboard ORDER BY place") == "vector_add/honest.cu\r\n");
  CHECK(
      box.query("SELECT min(emulated_cost_us) < (SELECT emulated_cost_us FROM leaderboard) FROM progress") ==
      "1\r\n");
  CHECK(box.query("SELECT template, status = 'ok', share < 1 FROM generalisation ORDER BY evaluation") ==
        "vector_add/cheat.cu,0,1\r\nvector_add/honest.cu,1,0\r\n");
  CHECK(box.query("SELECT template FROM best_variants") == "vector_add/honest.cu\r\n");
  CHECK(box.query("SELECT evaluations, verified FROM experiments") == "2,2\r\n");
  CHECK(result.out.find("best: honest.cu") != std::string::npos);
  CHECK(result.out.find("held-out shapes: right on all 6; 1 candidate was disqualified there") !=
        std::string::npos);
  CHECK(read_file(box.folder / "k.cu").find("97 % n") != std::string::npos);
  CHECK(read_file(box.folder / "k.explanation.md").find("right on all 6") != std::string::npos);
  const Json json = parse_json(read_file(box.folder / "k.result.json"));
  CHECK(json["held_out"]["shapes"] == 6);
  CHECK(json["held_out"]["passed"] == true);
  CHECK(json["held_out"]["disqualified"] == 1);
  CHECK(json["best"]["template"] == "vector_add/honest.cu");
}

TEST_CASE("where nothing is right on held-out shapes no kernel is left behind") {
  Sandbox box;
  const std::string folder = vector_add_problem(box, {{"cheat.cu", kCheat}});
  const ProgramResult result = box.run(generate_on_emulator(box, {"--problem", folder}));
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::no_kernel));
  CHECK(result.out.find("1 candidate was disqualified") != std::string::npos);
  for (const char* name : {"k.cu", "k.explanation.md", "k.test.cu", "k.result.json"})
    CHECK_FALSE(box.exists(name));
  // With --shape those around it count; a kernel for one shape alone has to say so.
  const ProgramResult around = box.run(generate_on_emulator(box, {"--problem", folder, "--shape", "N=1000"}));
  INFO(around.out << around.err);
  CHECK(around.exit_code == code(ExitCode::no_kernel));
  std::string stated = vector_add(kCheat);
  stated.replace(stated.find("{"), 1, R"({"constraints": ["N == 1000"], )");
  box.write("sums/cheat.cu", stated);
  const ProgramResult alone = box.run(generate_on_emulator(box, {"--problem", folder, "--shape", "N=1000"}));
  INFO(alone.out << alone.err);
  CHECK(alone.exit_code == 0);
  CHECK(alone.out.find("its launch plan is for the given shape alone") != std::string::npos);
}

TEST_CASE("a kernel whose blocks stay is also checked where each has work for several rounds") {
  Sandbox box;
  // Blocks that stay leave a barrier out which only their second round needs: with 132 multiprocessors none has one here.
  const auto staying = [](const std::string& barrier, const std::string& blocks) {
    return "/* alphakernel\n{\"params\": {\"dtype\": \"float32\"},\n \"launches\": [{\"kernel\": \"k\", "
           "\"grid\": [\"" +
           blocks + R"cu("], "block": [256], "args": ["a", "b", "c", {"i64": "N"}]}]}
*/
extern "C" __global__ void k(const float* a, const float* b, float* c, long long n) {
  __shared__ float sums[256];
  for (long long first = blockIdx.x * 256ll; first < n; first += gridDim.x * 256ll) {
    const long long own = first + 255 - threadIdx.x, other = first + threadIdx.x;
    sums[255 - threadIdx.x] = own < n ? a[own] + b[own] : 0.0f;
    __syncthreads();
    if (other < n) c[other] = sums[threadIdx.x];
)cu" + barrier +
           "  }\n}\n";
  };
  const auto evaluated = [&](const std::string& text) {
    return box.run(
        {"evaluate", box.write("k.cu", text), "--algorithm", "vector_add", "--device", "emulator"});
  };
  const std::string barrier = "    __syncthreads();\n";
  CHECK(evaluated(staying(barrier, "SM_COUNT * 16")).exit_code == 0);
  const ProgramResult racing = evaluated(staying("", "SM_COUNT * 16"));
  INFO(racing.out << racing.err);
  CHECK(racing.exit_code == code(ExitCode::no_kernel));
  CHECK((racing.out + racing.err).find("on a CPU device of one multiprocessor: ") != std::string::npos);
  // A plan that has no block there, or none of two, is not examined there.
  CHECK(evaluated(staying(barrier, "SM_COUNT // 2 * 32")).exit_code == 0);
  CHECK(evaluated(staying("", "SM_COUNT // 2 * 32")).exit_code == code(ExitCode::no_kernel));
  CHECK(evaluated(staying(barrier, "SM_COUNT // 132 * 2112")).exit_code == 0);
  const std::string asking = staying(barrier, "SM_COUNT * 16");
  CHECK(evaluated(asking.substr(0, asking.find('{') + 1) + "\"constraints\": [\"SM_COUNT >= 4\"], " +
                  asking.substr(asking.find('{') + 1))
            .exit_code == 0);
}
