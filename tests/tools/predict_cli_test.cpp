// SPDX-License-Identifier: Apache-2.0
// Predicting times as a user meets it: real kernels through the CPU device.
#include <catch2/catch.hpp>

#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

/// A vector_add whose threads read elements `stride` apart: 1 is as good as it gets.
std::string strided_add(int stride) {
  return R"cu(/* alphakernel
{"params": {"dtype": "float32"},
 "launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256],
               "args": ["a", "b", "c", {"i64": "N"}]}]}
*/
extern "C" __global__ void k(const float* a, const float* b, float* c, long long n) {
  const long long first = blockIdx.x * 256ll;
  const long long i = n % 256 ? first + threadIdx.x : first + threadIdx.x * )cu" +
         std::to_string(stride) + R"cu( % 256 + threadIdx.x * )cu" + std::to_string(stride) + R"cu( / 256;
  if (i < n) c[i] = a[i] + b[i];
}
)cu";
}

Json predict(Sandbox& box, const std::string& file, const std::string& shape,
             const std::vector<std::string>& extra = {}) {
  std::vector<std::string> arguments{"predict", file,  "--algorithm", "vector_add",
                                     "--shape", shape, "--json"};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  const ProgramResult result = box.run(arguments);
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  return parse_json(result.out).at("predictions").at(0);
}

}  // namespace

TEST_CASE("a kernel's time is predicted from exact counts of smaller shapes, and grows with work and waste") {
  Sandbox box;
  const std::string good = box.write("good.cu", strided_add(1));
  const std::vector<std::string> rates{"--time-model", "none"};
  const Json small = predict(box, good, "N=16777216", rates), large = predict(box, good, "N=67108864", rates);
  CHECK(large.at("knowledge") == "count");
  const Json& terms = large.at("terms_ns");
  for (const auto& [name, ns] : terms.items()) CHECK(ns <= terms.at(large.at("limiter").get<std::string>()));
  CHECK(large.at("count_check_error").get<double>() < 0.01);
  CHECK(large.at("predicted_ns").get<double>() > 3 * small.at("predicted_ns").get<double>());
  // every sector once, not found in L2: 12 bytes per element at 20 bytes per clock of 132 SMs
  CHECK(terms.at("l2").get<double>() == Approx(12.0 * 67108864 / (20 * 132 * 1.98)).epsilon(0.01));
  const Json bad = predict(box, box.write("bad.cu", strided_add(16)), "N=67108864", rates);
  CHECK(bad.at("terms_ns").at("l2").get<double>() > 2 * terms.at("l2").get<double>());
  CHECK(bad.at("predicted_ns").get<double>() > large.at("predicted_ns").get<double>());
}

TEST_CASE("without counts and without a model a prediction says what it is based on") {
  Sandbox box;
  const std::string file = box.write("good.cu", strided_add(1));
  const Json line = predict(box, file, "N=67108864", {"--no-counts", "--time-model", "none"});
  CHECK(line.at("knowledge") == "build");
  CHECK(line.at("fitted") == false);
  CHECK(line.at("low_ns").is_null());
  const ProgramResult page = box.run({"predict", file, "--algorithm", "vector_add", "--shape", "N=67108864",
                                      "--no-counts", "--arch", "h200", "--time-model", "none"});
  CHECK(page.out.find("no model is fitted for sm_90a") != std::string::npos);
  CHECK(page.out.find("limited by " + line.at("limiter").get<std::string>()) != std::string::npos);
}

TEST_CASE("a target whose times were measured has a shipped model, found by its name, and others have none") {
  Sandbox box;
  const std::string file = box.write("good.cu", strided_add(1));
  const Json line = predict(box, file, "N=67108864", {"--no-counts"});
  CHECK(line.at("fitted") == true);
  CHECK(line.at("low_ns") < line.at("predicted_ns"));
  CHECK(predict(box, file, "N=67108864", {"--no-counts", "--time-model", "sm_90a_h200"}) == line);
  CHECK(predict(box, file, "N=67108864", {"--no-counts", "--arch", "sm_120"}).at("fitted") == false);
  const auto refused = [&](const std::string& model, const std::string& arch) {
    const ProgramResult result = box.run({"predict", file, "--algorithm", "vector_add", "--shape", "N=1024",
                                          "--no-counts", "--arch", arch, "--time-model", model});
    CHECK(result.exit_code == code(ExitCode::usage));
    return result.err;
  };
  CHECK(refused("sm_90a_h300", "sm_90a").find("sm_90a_h200") != std::string::npos);
  CHECK(refused("sm_90a_h200", "sm_120").find("fitted for sm_90a, not for sm_120") != std::string::npos);
}

TEST_CASE("a product that is named has its own rates, and a model of another one is named") {
  Sandbox box;
  const std::string file = box.write("good.cu", strided_add(1));
  const auto answer = [&](const std::string& device) {
    const ProgramResult result = box.run({"predict", file, "--algorithm", "vector_add", "--shape",
                                          "N=67108864", "--no-counts", "--json", "--arch", device});
    INFO(result.out << result.err);
    REQUIRE(result.exit_code == 0);
    return parse_json(result.out);
  };
  const Json l40s = answer("l40s"), rtx4090 = answer("rtx4090"), l4 = answer("l4");
  CHECK(l40s["device"] == "NVIDIA L40S");
  CHECK(rtx4090["device"].get<std::string>().find("4090") != std::string::npos);
  CHECK(rtx4090["predictions"][0]["predicted_ns"] != l40s["predictions"][0]["predicted_ns"]);
  CHECK(l4["note"].get<std::string>().find("no figures of l4: those of the NVIDIA L40S stand for it") !=
        std::string::npos);
  const Json h200 = answer("h200"), h100 = answer("h100"), h20 = answer("h20");
  CHECK(h200["note"] == "");
  CHECK(answer("sm_90a")["predictions"] == h200["predictions"]);
  CHECK(h100["device"].get<std::string>().find("H100") != std::string::npos);
  CHECK(h100["note"].get<std::string>().find("sm_90a_h200 was fitted on the NVIDIA H200") !=
        std::string::npos);
  CHECK(h100["predictions"][0]["predicted_ns"] > h200["predictions"][0]["predicted_ns"]);
  CHECK(h20["note"].get<std::string>().find("no figures of h20") != std::string::npos);
  const ProgramResult page = box.run({"predict", file, "--algorithm", "vector_add", "--shape", "N=67108864",
                                      "--no-counts", "--arch", "h200"});
  CHECK(page.out.find('{') == std::string::npos);
  CHECK(page.out.find("on NVIDIA H200;") != std::string::npos);
}

TEST_CASE("a candidate that is wrong is predicted from its build, with a note") {
  Sandbox box;
  std::string wrong = strided_add(1);
  wrong.replace(wrong.find("a[i] + b[i]"), 11, "a[i] - b[i]");
  const ProgramResult result = box.run({"predict", box.write("wrong.cu", wrong), "--algorithm", "vector_add",
                                        "--shape", "N=1048576", "--json"});
  const Json json = parse_json(result.out);
  CHECK(json.at("predictions").at(0).at("knowledge") == "build");
  CHECK(json.at("note").get<std::string>().find("incorrect") != std::string::npos);
}

TEST_CASE("a model needs measurements of a GPU, and a broken one is refused by name") {
  Sandbox box;
  REQUIRE(box.generate({}).exit_code == 0);  // nothing was executed
  const ProgramResult none = box.run({"model", "fit", "--db", (box.folder / "ak.db").string()});
  CHECK(none.exit_code == code(ExitCode::bad_input));
  CHECK(none.err.find("no measurement of a GPU for sm_90a") != std::string::npos);
  CHECK(box.run({"model", "predict"}).exit_code == code(ExitCode::usage));
  box.write("prediction_sm_90a.json", "{}");
  const ProgramResult broken =
      box.run({"predict", box.write("k2.cu", strided_add(1)), "--algorithm", "vector_add", "--no-counts"});
  CHECK(broken.exit_code == code(ExitCode::bad_input));
  CHECK(broken.err.find("prediction_sm_90a.json") != std::string::npos);
}
