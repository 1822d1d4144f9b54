// SPDX-License-Identifier: Apache-2.0
// The audit as a user meets it: shipped problems pass theirs, a weak one fails and cannot be used.
#include <catch2/catch.hpp>
#include <set>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/daily_sample.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

namespace fs = std::filesystem;

struct Shipped {
  std::string name;
  std::vector<std::string> dtypes;
  std::vector<std::string> workloads = {};  ///< some of the small ones, where all of them take long
};

const std::vector<std::string> kSingleAndHalf{"float32", "float16"};

const Shipped kShipped[] = {
    {"activation", kSingleAndHalf},
    {"adamw", {"bfloat16"}, {"n67_t5", "n512_t40"}},
    {"attention_backward", {"bfloat16"}, {"b1_h1_g1_s1_t1", "b2_h4_g2_s1_t33", "b2_h2_g2_s31_t33"}},
    {"attention_block_sparse", {"bfloat16"}, {"b1_h1_g1_s1_t1", "b2_h2_g1_s65_t130"}},
    {"attention_decode",
     {"bfloat16", "float8_e4m3fn"},
     {"b1_q1_h1_g1_s1", "b2_q4_h4_g1_s33", "b1_q1_h20_g1_s65"}},
    {"attention_mla_decode", {"bfloat16"}, {"b1_q1_h1_s1", "b2_q3_h2_s17", "b1_q1_h66_s2"}},
    {"block_sparse_gemm", {"bfloat16"}, {"m1_1x1_1", "m7_9x2_5"}},
    {"cast_quantise", {"float16"}, {"m33_n128", "m5_n1008"}},
    {"conv2d", {"bfloat16"}, {"n2_7x6_c3_k5_3x2", "n2_5x6_c16_k16_3x3"}},
    {"copy", kSingleAndHalf},
    {"cross_entropy", {"bfloat16", "float32"}, {"m3_n2", "m67_n10", "m7_n129", "m3_n2055"}},
    {"embedding_bag", {"float32", "bfloat16"}},
    {"embedding_lookup", {"bfloat16"}, {"n37_v11_h24", "n70_v100_h33", "n9_v70000_h1", "n5_v20_h1030"}},
    {"encoder", {"bfloat16"}, {"b3_s7_v20_h128_i136"}},
    {"fft", {"float32"}, {"b5_n8", "b5_n64"}},
    {"flash_attention",
     {"bfloat16", "float16"},
     {"b3_h8_g2_s1_t1", "b2_h4_g2_s1_t77", "b2_h2_g2_s33_t1", "b2_h4_g2_s31_t33", "b3_h2_g1_s17_t40"}},
    {"fused_elementwise", kSingleAndHalf},
    {"gather", {"float32", "bfloat16"}, {"m1_n1_k1", "m3_n37_k24", "m5_n16_k70", "m2_n70000_k9"}},
    {"gemm", {"bfloat16", "int8"}, {"m1_n1_k1", "m17_n40_k72", "m64_n64_k64"}},
    {"grouped_gemm", {"bfloat16", "float8_e4m3fn"}, {"e1_m1_n8_k16", "e4_m70_n72_k80", "e3_m20_n24_k272"}},
    {"groupnorm", {"bfloat16"}, {"b2_c32_s7", "b1_c96_s25"}},
    {"histogram", {"int32", "uint8"}},
    {"kv_cache_append", {"bfloat16"}},
    {"l2norm", kSingleAndHalf, {"m3_n33", "m5_n1000"}},
    {"layernorm", kSingleAndHalf},
    {"layernorm_dropout", {"bfloat16"}, {"m3_n33", "m5_n1000"}},
    {"linear", {"float32", "bfloat16"}},
    {"linear_fp8", {"bfloat16"}, {"m1_n64_k256", "m5_n129_k131"}},
    {"linear_int8", {"bfloat16"}, {"m1_n64_k256", "m5_n129_k131"}},
    {"linear_swiglu", {"float16"}, {"m1_n64_k64", "m5_n129_k31"}},
    {"linear_w4a16", {"bfloat16"}, {"m1_n64_k256", "m5_n129_k131"}},
    {"linear_w8a16", {"float16"}, {"m1_n64_k256", "m5_n129_k131"}},
    {"log_softmax", kSingleAndHalf},
    {"mean_pool_l2norm", {"float32", "bfloat16"}},
    {"moe_route", {"bfloat16"}, {"t37_e8", "t70_e60", "t5_e128", "t2_e1024", "t140_e33"}},
    {"moe_swiglu", {"bfloat16"}, {"t1_k1_e1_h8_i8", "t5_k4_e40_h32_i24"}},
    {"radix_sort", {"int32"}, {"n1", "n33", "n1000"}},
    {"reduce_sum", {"float32", "bfloat16"}},
    {"residual_norm", {"float16", "float32"}, {"m3_n33", "m5_n1008"}},
    {"rmsnorm", {"float32", "bfloat16"}},
    {"rope", {"bfloat16", "float32"}},
    {"row_reduce", {"float32", "bfloat16"}},
    {"scan", {"float32", "int32"}, {"m1_n1", "m3_n2", "m5_n33", "m4_n128", "m2_n1003", "m3_n4100"}},
    {"scatter_add", {"float32", "bfloat16"}, {"n37_v11_h24", "n70_v100_h33", "n5_v20_h136"}},
    {"segmented_scan", {"float32", "int32"}, {"n7", "n64", "n1003", "n4096"}},
    {"selective_scan", {"bfloat16"}, {"b1_d4_l3_g2", "b2_d6_l40_g2"}},
    {"softmax", kSingleAndHalf},
    {"spmv",
     {"float32", "bfloat16"},
     {"r1_c1_nnz1", "r37_c24_nnz300", "r70_c1000_nnz1003", "r500_c9_nnz77", "r3_c9000_nnz9001",
      "r5_c70000_nnz60"}},
    {"swiglu", kSingleAndHalf},
    {"top_k", {"float32", "bfloat16"}, {"m3_n8", "m9_n64", "m5_n257", "m2_n1001", "m1_n9001"}},
    {"top_p_sample", {"float32"}},
    {"transpose", kSingleAndHalf},
    {"transpose_inplace", kSingleAndHalf},
    {"transpose_nd", kSingleAndHalf},
    {"vector_add", kSingleAndHalf},
};

/// A problem of the user's own: vector_add with three workloads, and what `change` does to its problem.json.
template <class Change>
fs::path own_problem(const Sandbox& box, Change change) {
  fs::path folder = box.folder / "own";
  fs::remove_all(folder);
  fs::copy(AK_SOURCE_DIR "/templates/vector_add", folder);
  fs::remove(folder / "audit.json");
  Json json = parse_json(read_file(folder / "problem.json"));
  change(json);
  write_file_atomically(folder / "problem.json", json.dump(2));
  std::string workloads;
  for (const int n : {1, 100, 1000}) {
    workloads += Json{{"name", "n" + std::to_string(n)},
                      {"axes", {{"N", n}}},
                      {"role", {"check", "time"}},
                      {"tier", "emulator"}}
                     .dump() +
                 "\n";
  }
  write_file_atomically(folder / "workloads.jsonl", workloads);
  return folder;
}

std::vector<std::string> generate_from(const Sandbox& box, const fs::path& problem) {
  return {"generate",
          "--problem",
          problem.string(),
          "--device",
          "none",
          "--arch",
          "sm_90a",
          "--output",
          (box.folder / "k.cu").string(),
          "-q",
          "--max-evaluations",
          "1"};
}

std::vector<std::string> with_flag(std::vector<std::string> arguments, const std::string& flag) {
  arguments.push_back(flag);
  return arguments;
}

/// Every input is zero.
void hide_everything(Json& json) {
  json["distributions"] = {{{"name", "nothing"}, {"kind", "normal"}, {"scale", 0}}};
}

}  // namespace

TEST_CASE("every shipped problem passes its audit, and says so in its audit.json") {
  Sandbox box;
  std::size_t audits = 0;
  for (std::size_t i = 0; i < std::size(kShipped); ++i) {
    const Shipped& problem = kShipped[i];
    for (std::size_t j = 0; j < problem.dtypes.size(); ++j) {
      if (!drawn_today(i + 26 * j, 26 * problem.dtypes.size())) continue;  // a twenty-sixth of the problems
      const std::string& dtype = problem.dtypes[j];
      ++audits;
      std::vector<std::string> arguments{"algorithms", "audit",   problem.name, "--device",
                                         "emulator",   "--dtype", dtype,        "--json"};
      for (const std::string& workload : problem.workloads)
        arguments.insert(arguments.end(), {"--workload", workload});
      const ProgramResult result = box.run(arguments);
      INFO(problem.name << " " << dtype << result.out << result.err);
      REQUIRE(result.exit_code == 0);
      const Json audit = parse_json(result.out).at(0);
      CHECK(audit["passed"] == true);
      CHECK(audit["findings"].size() > 6);
      INFO("if this problem was changed: alphakernel algorithms audit " << problem.name << " --record");
      CHECK(audit["recorded"] == true);
      const Json record = parse_json(read_file(AK_SOURCE_DIR "/templates/" + problem.name + "/audit.json"));
      if (record.contains("formulas")) CHECK(audit["formulas_hold"] == true);
    }
  }
  CHECK(box.query("SELECT count(*) FROM audits WHERE passed = 1") == std::to_string(audits) + "\r\n");
  CHECK(box.query("SELECT count(*) FROM audit_findings WHERE verdict = 'rejected' AND rejections = 0 "
                  "AND message = ''") == "0\r\n");
}

TEST_CASE("the formulas of every shipped problem hold") {
  for (const Shipped& problem : kShipped) {
    const Json record = parse_json(read_file(AK_SOURCE_DIR "/templates/" + problem.name + "/audit.json"));
    INFO(problem.name << ": alphakernel algorithms audit " << problem.name << " --formulas --record");
    CHECK(record.contains("formulas"));
  }
}

TEST_CASE("no shipped problem is left out of the test above") {
  Sandbox box;
  const Json known = parse_json(box.run({"algorithms", "--json"}).out)["problems"];
  CHECK(known.size() == std::size(kShipped));
}

TEST_CASE("a list as JSON says what is broken, under the name that the operation gives it") {
  Sandbox box;
  fs::create_directories(box.folder / "mine" / "torn");
  write_file_atomically(box.folder / "mine" / "torn" / "problem.json", "{");
  box.environment["ALPHAKERNEL_TEMPLATES"] = (box.folder / "mine").string();
  const Json list = parse_json(box.run({"algorithms", "--json"}).out);
  CHECK(list == parse_json(box.run({"operations", "call", "list_problems"}).out));
  for (const Json& problem : list["problems"]) {
    INFO(problem.dump());
    CHECK(problem.contains("broken") == (problem["name"] == "torn"));
  }
}

TEST_CASE("no factor of a tolerance lets a mistake pass") {
  Sandbox box;
  const fs::path problem = own_problem(box, [](Json& json) { json["tolerance"]["factor"] = 1e12; });
  const ProgramResult audit = box.run(
      {"algorithms", "audit", "--problem", problem.string(), "--device", "emulator", "--dtype", "bfloat16"});
  INFO(audit.out << audit.err);
  CHECK(audit.exit_code == 0);
  CHECK(audit.out.find("  automatic low_precision   rejected") != std::string::npos);
}

TEST_CASE("a problem whose inputs let zeros pass fails by name, and is used only with --unaudited") {
  Sandbox box;
  const fs::path problem = own_problem(box, hide_everything);
  const ProgramResult audit =
      box.run({"algorithms", "audit", "--problem", problem.string(), "--device", "emulator"});
  INFO(audit.out << audit.err);
  CHECK(audit.exit_code == code(ExitCode::audit));
  CHECK(audit.out.find("! automatic zeros           accepted") != std::string::npos);
  CHECK(audit.out.find("  declared  no_b            rejected") == std::string::npos);

  const ProgramResult refused = box.run(generate_from(box, problem));
  INFO(refused.out << refused.err);
  CHECK(refused.exit_code == code(ExitCode::audit));
  CHECK(refused.err.find("mutation 'zeros' of 'c'") != std::string::npos);
  CHECK(refused.err.find("mutation 'no_b'") != std::string::npos);
  CHECK_FALSE(box.exists("k.cu"));
  const std::string kernel = (problem / "vector_add.cu").string();
  const std::vector<std::string> evaluate{"evaluate", kernel, "--problem", problem.string(),
                                          "--device", "none", "--arch",    "sm_90a"};
  CHECK(box.run(evaluate).exit_code == code(ExitCode::audit));

  CHECK(box.run(with_flag(generate_from(box, problem), "--unaudited")).exit_code == 0);
  CHECK(box.run(with_flag(evaluate, "--unaudited")).exit_code == 0);
  CHECK(box.query("SELECT count(*), max(audited) FROM searches") == "2,0\r\n");
}

TEST_CASE("a problem of one's own is audited at its first use, and again when it changes") {
  Sandbox box;
  fs::path problem = own_problem(box, [](Json&) {});
  const std::string note = "note: auditing vector_add_fp32 on the CPU";
  const ProgramResult first = box.run(generate_from(box, problem)),
                      second = box.run(generate_from(box, problem));
  INFO(first.err << second.err);
  CHECK(first.exit_code == 0);
  CHECK(first.err.find(note) != std::string::npos);
  CHECK(second.exit_code == 0);
  CHECK(second.err.find(note) == std::string::npos);
  CHECK(box.query("SELECT min(audited) FROM searches") == "1\r\n");
  problem = own_problem(box, [](Json& json) { json["summary"] = "changed"; });
  CHECK(box.run(generate_from(box, problem)).err.find(note) != std::string::npos);
}

TEST_CASE(
    "a mutation is tried until it is rejected, under each distribution that it names, or on everything") {
  Sandbox box;
  const auto finding = [&](const fs::path& problem, std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"algorithms", "audit", "--problem", problem.string(), "--device", "emulator",
                                 "--dtype", "float32", "--json"});
    const ProgramResult result = box.run(flags);
    INFO(result.out << result.err);
    REQUIRE(result.exit_code == 0);
    const Json audit = parse_json(result.out).at(0);
    for (const Json& one : audit["findings"])
      if (one["mutation"] == "no_b") return one;
    return Json();
  };
  const fs::path plain = own_problem(box, [](Json&) {});
  CHECK(finding(plain, {})["checks"] == 1);
  const Json all = finding(plain, {"--every-comparison"});
  CHECK(all["checks"] == 15);  // three workloads, five distributions
  CHECK(all["rejections"] > 1);
  const fs::path naming = own_problem(box, [](Json& json) {
    json["mutations"][1]["fails_on"] = {"small", "integers"};
  });
  const Json named = finding(naming, {});
  CHECK(named["checks"] >= 3);  // under the first, and these two
  CHECK(named["checks"] < 15);
}

TEST_CASE("checks that reject the reference's own twin, or inputs that hide a mutation, fail the audit") {
  Sandbox box;
  const auto audit = [&](const fs::path& problem) {
    return box.run(
        {"algorithms", "audit", "--problem", problem.string(), "--device", "emulator", "--dtype", "float32"});
  };
  const ProgramResult strict =
      audit(own_problem(box, [](Json& json) { json["tolerance"]["factor"] = 0.01; }));
  INFO(strict.out << strict.err);
  CHECK(strict.exit_code == code(ExitCode::audit));
  CHECK(strict.out.find("! honest    honest          rejected") != std::string::npos);
  const ProgramResult zeros = audit(own_problem(box, hide_everything));
  INFO(zeros.out << zeros.err);
  CHECK(zeros.exit_code == code(ExitCode::audit));
  CHECK(zeros.out.find("! automatic zeros           accepted") != std::string::npos);
}

TEST_CASE("integers in [-8, 8] hide a kernel that reads one bit of four, unless the problem says so") {
  Sandbox box;
  const auto audit = [&](const Json& distributions) {
    const fs::path folder = box.folder / "integers";
    fs::remove_all(folder);
    fs::copy(AK_SOURCE_DIR "/templates/gemm", folder);
    Json json = parse_json(read_file(folder / "problem.json"));
    json["distributions"] = distributions;
    write_file_atomically(folder / "problem.json", json.dump(2));
    return box.run({"algorithms", "audit", "--problem", folder.string(), "--device", "emulator", "--dtype",
                    "int8", "--workload", "m17_n40_k72", "--workload", "m64_n64_k64"});
  };
  const ProgramResult silent = audit({{{"name", "normal"}, {"kind", "normal"}}});
  INFO(silent.out << silent.err);
  CHECK(silent.exit_code == code(ExitCode::audit));
  CHECK(silent.out.find("! automatic ignored_bits_1  accepted") != std::string::npos);
  CHECK(silent.out.find("give it a \"draw\"") != std::string::npos);
  const ProgramResult whole = audit({{{"name", "whole_type"}, {"kind", "integers"}}});
  INFO(whole.out << whole.err);
  CHECK(whole.exit_code == 0);
  CHECK(whole.out.find("  automatic ignored_bits_1  rejected") != std::string::npos);
  const ProgramResult said = audit({{{"name", "small"}, {"kind", "integers(-8, 8)"}}});
  INFO(said.out << said.err);
  CHECK(said.exit_code == 0);
}

TEST_CASE("a mutation is a hole where it must be rejected under a distribution, and is under another only") {
  Sandbox box;
  const fs::path problem = own_problem(box, [](Json& json) {
    json["distributions"].push_back({{"name", "nothing"}, {"kind", "constant(0)"}});
    json["mutations"][1]["fails_on"] = {"normal", "nothing"};
  });
  const ProgramResult audit = box.run(
      {"algorithms", "audit", "--problem", problem.string(), "--device", "emulator", "--dtype", "float32"});
  INFO(audit.out << audit.err);
  CHECK(audit.exit_code == code(ExitCode::audit));
  CHECK(audit.out.find("! declared  no_b            accepted") != std::string::npos);
  CHECK(audit.out.find("must be rejected under the distribution 'nothing'") != std::string::npos);
}

TEST_CASE("tensors of bool, and outputs that are exact under some distributions, are audited and checked") {
  Sandbox box;
  const std::string problem = AK_SOURCE_DIR "/tests/tools/masked";
  const ProgramResult audit =
      box.run({"algorithms", "audit", "--problem", problem, "--device", "emulator", "--json"});
  INFO(audit.out << audit.err);
  CHECK(audit.exit_code == 0);
  std::set<std::string> inexact_in;
  for (const Json& each : parse_json(audit.out)) {
    for (const Json& finding : each["findings"]) {
      if (finding["mutation"] != "inexact") continue;
      CHECK(finding["verdict"] == "rejected");
      inexact_in.insert(each["params"]["dtype"].get<std::string>());
    }
  }
  CHECK(inexact_in == std::set<std::string>{"float32"});
  const auto evaluate = [&](const fs::path& kernel) {
    return box.run({"evaluate", kernel.string(), "--problem", problem, "--device", "emulator"});
  };
  const fs::path right = fs::path(problem) / "masked.cu", wrong = box.folder / "two.cu";
  std::string source = read_file(right);
  CHECK(evaluate(right).exit_code == 0);
  const std::string flag = "positive[i] = value > 0;";
  source.replace(source.find(flag), flag.size(),
                 "reinterpret_cast<unsigned char*>(positive)[i] = value > 0 ? 2 : 0;");
  write_file_atomically(wrong, source);
  const ProgramResult two = evaluate(wrong);
  INFO(two.out << two.err);
  CHECK(two.exit_code != 0);
  CHECK((two.out + two.err).find("must be equal") != std::string::npos);
}

TEST_CASE("--record is refused for a part of a problem") {
  Sandbox box;
  const ProgramResult result =
      box.run({"algorithms", "audit", "copy", "--device", "emulator", "--dtype", "float32", "--record"});
  CHECK(result.exit_code == code(ExitCode::usage));
  CHECK(is_one_line(result.err));
}
