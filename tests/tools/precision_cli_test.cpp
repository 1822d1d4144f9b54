// SPDX-License-Identifier: Apache-2.0
// The fastest precision within a stated error, and the front of time and error, on the CPU device.
#include <catch2/catch.hpp>
#include <fstream>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

namespace ak::testing {
namespace {

constexpr const char* kProblem = R"({
  "name": "add_one", "summary": "y = x + 1", "op_type": "elementwise",
  "params": {"dtype": {"type": "choice", "choices": ["float32", "float16", "bfloat16"], "default": "float32", "help": "element type"}},
  "definition": {"name": "add_one_{dtype}", "axes": {"N": {"type": "var"}},
    "inputs": {"x": {"shape": ["N"], "dtype": "dtype"}}, "outputs": {"y": {"shape": ["N"], "dtype": "dtype"}}},
  "flops": "N", "bytes_read": "N * sizeof_x", "bytes_written": "N * sizeof_y", "tolerance": {"reason": "rounded once"},
  "distributions": [{"name": "normal", "kind": "normal"}, {"name": "large", "kind": "normal", "scale": 100}],
  "reference": "def run(x):\n    return x + 1\n"})";
constexpr const char* kShapes = R"({"name": "n100", "axes": {"N": 100}, "role": "check", "tier": "emulator"}
{"name": "n20000", "axes": {"N": 20000}, "role": ["check", "time"], "tier": "emulator"}
{"name": "any", "axes": {"N": [1, 30000]}, "role": "held_out", "tier": "emulator"}
)";
constexpr const char* kReference = R"code(/* alphakernel
{"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}]} */
__global__ void k(const scalar_t* x, out_t* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) y[i] = out_t(accum_t(x[i]) + accum_t(1));
}
)code";
/// The fast variant is off by an error that the problem's own tolerance lets pass in 16 bits.
constexpr const char* kTemplate = R"code(/* alphakernel
{"tunables": {"EXACT": {"values": [0, 1], "default": 0}},
 "launches": [{"kernel": "add", "grid": ["ceil_div(N, 128)"], "block": [128], "args": ["x", "y", {"i64": "N"}]}]} */
__global__ void add(const scalar_t* x, scalar_t* y, long long n) {
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= n) return;
  float sum = float(x[i]) + 1.0f;
#if AK_EXACT
  for (int round = 0; round < 400; ++round) sum = __shfl_xor_sync(__activemask(), sum, 0);
#else
  if (sizeof(scalar_t) == 2) sum *= 1.0006f;
#endif
  y[i] = scalar_t(sum);
}
)code";

struct PrecisionSandbox : Sandbox {
  PrecisionSandbox() {
    std::filesystem::create_directories(problem());
    for (const auto& [name, text] : {std::pair{"problem.json", kProblem},
                                     {"workloads.jsonl", kShapes},
                                     {"reference.cu", kReference},
                                     {"add.cu", kTemplate}})
      std::ofstream(problem() / name) << text;
  }
  [[nodiscard]] std::filesystem::path problem() const { return folder / "add_one"; }
  [[nodiscard]] std::filesystem::path file(const char* name) const { return folder / name; }

  ProgramResult make(const std::vector<std::string>& extra, const std::string& device = "emulator") {
    std::vector<std::string> arguments{"generate",
                                       "--problem",
                                       problem().string(),
                                       "--device",
                                       device,
                                       "--arch",
                                       "sm_90a",
                                       "--seed",
                                       "1",
                                       "--deterministic",
                                       "--unaudited",
                                       "--quiet",
                                       "--max-evaluations",
                                       "12",
                                       "--output",
                                       file("k.cu").string()};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    return run(arguments);
  }
  [[nodiscard]] Json precision() const { return parse_json(read_file(file("k.result.json")))["precision"]; }
};

const Json& trial(const Json& precision, const std::string& dtype) {
  for (const Json& one : precision["tried"])
    if (one["name"] == "dtype=" + dtype) return one;
  FAIL("no " << dtype << " in " << precision.dump());
  return precision;
}

}  // namespace

TEST_CASE("the fastest precision within a stated error is found, and kernels beyond it lose, however fast") {
  PrecisionSandbox box;
  const ProgramResult made = box.make({"--dtype", "auto", "--max-error", "4e-4", "--inputs-like", "none"});
  INFO(made.out << made.err);
  REQUIRE(made.exit_code == 0);
  CHECK_THAT(made.out, Catch::Contains("precision: errors of at most 0.0004"));
  const Json precision = box.precision();
  INFO(precision.dump(1));
  CHECK(precision["reference"] == "add_one_fp32");
  REQUIRE(precision["tried"].size() == 3);
  // bfloat16 rounds by more: it was never searched.
  CHECK(trial(precision, "bfloat16")["score_ns"].is_null());
  CHECK_THAT(trial(precision, "bfloat16")["note"].get<std::string>(),
             Catch::Contains("rounded once, are off by"));
  CHECK(
      box.query("SELECT count(*) FROM searches s JOIN definitions d ON d.id = s.definition_id WHERE d.name = "
                "'add_one_bf16'") == "0\r\n");
  // In float16 the faster variant passes all usual gates, and is over the bound.
  CHECK(trial(precision, "float16")["error"] <= 4e-4);
  CHECK(
      box.query("SELECT DISTINCT v.tunables, e.status, e.gate FROM evaluations e JOIN variants v ON v.id = "
                "e.variant_id "
                "JOIN definitions d ON d.id = v.definition_id WHERE d.name = 'add_one_fp16' AND v.tunables = "
                "'{\"EXACT\":0}'") == "\"{\"\"EXACT\"\":0}\",incorrect,tolerance\r\n");
  double least = 1e30;
  std::string fastest;
  for (const Json& one : precision["tried"])
    if (!one["score_ns"].is_null() && one["score_ns"].get<double>() < least)
      least = one["score_ns"].get<double>(), fastest = one["name"].get<std::string>();
  for (const Json& one : precision["tried"]) CHECK(one["chosen"] == (one["name"] == fastest));
  const Json result = parse_json(read_file(box.file("k.result.json")));
  CHECK(result["best"]["score_ns"] == least);
  // The files are those of the one that was chosen.
  const std::string kernel = read_file(box.file("k.cu"));
  CHECK_THAT(kernel, Catch::Contains(fastest == "dtype=float32" ? "float32" : "float16"));

  // What the bound refused says nothing of searches without it.
  const ProgramResult usual = box.make({"--dtype", "float16"});
  INFO(usual.out << usual.err);
  REQUIRE(usual.exit_code == 0);
  CHECK_THAT(usual.out, Catch::Contains("EXACT=0"));

  const ProgramResult front = box.run({"best", "front", "--problem", box.problem().string(), "--objectives",
                                       "time,error", "--json", "--picture", box.file("front.svg").string()});
  INFO(front.out << front.err);
  REQUIRE(front.exit_code == 0);
  const Json json = parse_json(front.out);
  CHECK(json["front"].size() >= 2);  // the fast one, and more exact ones
  for (const Json& point : json["front"]) {
    CHECK(point["emulated"] == true);
    for (const Json& other : json["front"])
      CHECK_FALSE((other["values"]["time"] < point["values"]["time"] &&
                   other["values"]["error"] < point["values"]["error"]));
  }
  CHECK_THAT(read_file(box.file("front.svg")), Catch::StartsWith("<svg") && Catch::Contains("add_one_fp16"));
  const ProgramResult half = box.run({"best", "front", "--problem", box.problem().string(), "--dtype", "fp16",
                                      "--objectives", "time,error"});
  INFO(half.out << half.err);
  CHECK(half.exit_code == 0);
  CHECK_THAT(half.out, Catch::Contains("add_one_fp16") && !Catch::Contains("add_one_fp32"));
}

TEST_CASE(
    "rounding the inputs counts under the distributions that inputs are like, and where nothing holds that "
    "is said") {
  PrecisionSandbox box;
  // Rounding x before it is added costs another roundoff.
  const ProgramResult strict = box.make({"--dtype", "auto", "--max-error", "4e-4"});
  INFO(strict.out << strict.err);
  REQUIRE(strict.exit_code == 0);
  CHECK(trial(box.precision(), "float16")["input_error"] > 1e-4);

  const ProgramResult none = box.make({"--dtype", "auto", "--max-error", "1e-9"});
  INFO(none.out << none.err);
  CHECK(none.exit_code == static_cast<int>(ExitCode::no_kernel));
  CHECK_THAT(none.err, Catch::Contains("no precision of add_one holds an error of 1e-09") &&
                           Catch::Contains("dtype=float16: exact results on its rounded inputs") &&
                           Catch::Contains("dtype=float32: exact results on its rounded inputs"));
}

TEST_CASE(
    "a bound without a device, without a number or for another command is refused before anything runs") {
  PrecisionSandbox box;
  const auto refused = [&](const std::vector<std::string>& extra, const std::string& why,
                           const std::string& device = "emulator") {
    const ProgramResult result = box.make(extra, device);
    INFO(result.out << result.err);
    CHECK(result.exit_code == static_cast<int>(ExitCode::usage));
    CHECK_THAT(result.err, Catch::Contains(why));
  };
  refused({"--dtype", "auto"}, "say which error is right enough");
  refused({"--dtype", "auto", "--max-error", "2"}, "--max-error");
  refused({"--max-error", "1e-3"}, "it needs a device", "none");
  refused({"--precision", "auto", "--max-error", "1e-3"}, "add_one has no --precision");
  refused({"--max-error", "1e-3", "--inputs-like", "normel"}, "did you mean 'normal'");
  refused({"--max-error", "1e-3", "--start", "k.cu"}, "leave --max-error out");
  const auto no_front = [&](const std::vector<std::string>& extra, const std::string& why) {
    std::vector<std::string> arguments{"best", "front", "--problem", box.problem().string()};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    const ProgramResult result = box.run(arguments);
    CHECK(result.exit_code == static_cast<int>(ExitCode::usage));
    CHECK_THAT(result.err, Catch::Contains(why));
  };
  no_front({"--objectives", "time,tyme"}, "there is no objective 'tyme'");
  no_front({"--objectives", "time"}, "two objectives or more");
  no_front({"--shape", "N=7"}, "leave --shape out");
}

}  // namespace ak::testing
