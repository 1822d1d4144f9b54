// SPDX-License-Identifier: Apache-2.0
// Quantised linear layers on inputs and shapes that nobody plans for: scales that are NaN or of another size, sums that
// end within a group, lines that no vector divides, targets and sizes that a kernel does not take.
#include <catch2/catch.hpp>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/daily_sample.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct Layer {
  std::string algorithm, kernel;
  Words scales;
  Words params;
};

const Layer kLayers[] = {
    {"linear_fp8", "fp8_mma.cu", {"x_scale", "weight_scale"}, {"--scales", "block"}},
    {"linear_fp8", "fp8_wgmma.cu", {"x_scale", "weight_scale"}, {"--scales", "block"}},
    {"linear_fp8", "fp8_mma.cu", {"x_scale", "weight_scale"}, {"--scales", "row"}},
    {"linear_fp8", "fp8_wgmma.cu", {"x_scale", "weight_scale"}, {"--scales", "row"}},
    {"linear_int8", "int8_mma.cu", {"x_scale", "weight_scale"}, {"--bias", "true"}},
    {"linear_int8", "int8_wgmma.cu", {"x_scale", "weight_scale"}, {"--bias", "true"}},
    {"linear_w4a16", "w4a16_mma.cu", {"scale"}, {"--zero-points", "true"}},
    {"linear_w4a16", "w4a16_wgmma.cu", {"scale"}, {"--zero-points", "true"}},
    {"linear_w4a16", "w4a16_stream.cu", {"scale"}, {"--zero-points", "true"}},
    {"linear_fp8", "fp8_wgmma_rows.cu", {"x_scale", "weight_scale"}, {"--scales", "block"}},
    {"linear_fp8", "fp8_wgmma_rows.cu", {"x_scale", "weight_scale"}, {"--scales", "row"}},
};

fs::path template_of(const Layer& layer) {
  return fs::path(AK_SOURCE_DIR) / "templates" / layer.algorithm / layer.kernel;
}

ProgramResult evaluate(Sandbox& box, const Layer& layer, const fs::path& kernel, const Words& more,
                       const std::string& arch = "sm_90a") {
  Words words{"evaluate", kernel.string(), "--device", "emulator", "--arch", arch};
  words.insert(words.end(), layer.params.begin(), layer.params.end());
  words.insert(words.end(), more.begin(), more.end());
  return box.run(words);
}

/// The layer's problem where one of four scales is NaN, on sums of whole vectors and on others.
fs::path problem_with_nan(const Sandbox& box, const Layer& layer) {
  fs::path folder = box.folder / "odd";
  fs::remove_all(folder);
  fs::copy(fs::path(AK_SOURCE_DIR) / "templates" / layer.algorithm, folder);
  Json json = parse_json(read_file(folder / "problem.json"));
  Json odd = json["distributions"][0];
  Json all = Json::array();
  for (const std::string& scale : layer.scales) {
    odd["name"] = "odd_" + scale;
    odd["tensors"] = json["distributions"][0]["tensors"];
    odd["tensors"][scale] = "choices(0.01, 0.02, 0.04, nan)";
    all.push_back(odd);
  }
  json["distributions"] = all;
  write_file_atomically(folder / "problem.json", json.dump());
  std::string workloads;
  for (const char* shape : {R"({"M": 9, "N": 72, "K": 272})", R"({"M": 5, "N": 129, "K": 131})"})
    workloads += Json{{"name", "w" + std::to_string(workloads.size())},
                      {"axes", parse_json(shape)},
                      {"role", {"check", "time"}},
                      {"tier", "emulator"}}
                     .dump() +
                 "\n";
  write_file_atomically(folder / "workloads.jsonl", workloads);
  return folder;
}

ProgramResult evaluate_with_nan(Sandbox& box, const Layer& layer, const fs::path& kernel) {
  return evaluate(box, layer, kernel,
                  {"--problem", problem_with_nan(box, layer).string(), "--unaudited", "--json"});
}

}  // namespace

TEST_CASE("where scales are NaN, a linear layer's results are NaN in exactly the reference's places") {
  Sandbox box;
  for (std::size_t i = 0; i < std::size(kLayers); ++i) {
    if (!drawn_today(i, 4)) continue;
    const Layer& layer = kLayers[i];
    const ProgramResult result = evaluate_with_nan(box, layer, template_of(layer));
    INFO(layer.kernel << " " << layer.params[1] << "\n" << result.out << result.err);
    REQUIRE(result.exit_code == 0);
    const Json answer = parse_json(result.out);
    std::size_t compared = 0;
    for (const Json& check : answer["record"]["checks"]) compared += check["passed"] == true;
    CHECK(compared == 2 * layer.scales.size());
  }
}

TEST_CASE("a linear layer that takes NaN for zero is rejected for it") {
  Sandbox box;
  const Layer& layer = kLayers[4];
  std::string text = read_file(template_of(layer));
  const std::string epilogue = "ak::ScaleRows{x_scale}";
  REQUIRE(text.find(epilogue) != std::string::npos);
  text.replace(text.find(epilogue), epilogue.size(), "Quiet{x_scale}");
  const std::string before = "__device__ __forceinline__ auto results(";
  REQUIRE(text.find(before) != std::string::npos);
  text.insert(text.find(before),
              "struct Quiet {\n  const float* scales;\n"
              "  __device__ float operator()(float value, int row, int) const {\n"
              "    return value * fmaxf(scales[row], 0.0f);\n  }\n};\n");
  const ProgramResult result = evaluate_with_nan(box, layer, box.write("quiet.cu", text));
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::no_kernel));
  // Whichever call is the first to draw NaN.
  CHECK_THAT(parse_json(result.out)["record"]["message"].get<std::string>(),
             Catch::Contains("NaN and infinity must be where the reference has them"));
}

TEST_CASE("sums that end within a group, and lines that no vector divides, are right") {
  Sandbox box;
  const char* const kShapes[] = {"M=1,N=1,K=1", "M=3,N=65,K=127", "M=9,N=7,K=129", "M=2,N=130,K=200"};
  for (std::size_t i = 0; i < std::size(kLayers); ++i) {
    const std::size_t shape = i % std::size(kShapes);
    if (!drawn_today(i, 4)) continue;
    const Layer& layer = kLayers[i];
    const ProgramResult result =
        evaluate(box, layer, template_of(layer), {"--algorithm", layer.algorithm, "--shape", kShapes[shape]});
    INFO(layer.kernel << " " << kShapes[shape] << "\n" << result.out << result.err);
    CHECK(result.exit_code == 0);
  }
}

TEST_CASE("a size that a linear layer does not have is refused by its constraint, a target by the kernel's") {
  Sandbox box;
  for (const auto& [layer, limit] :
       {std::pair{kLayers[0], 131072}, {kLayers[4], 65536}, {kLayers[6], 131072}}) {
    const ProgramResult result =
        evaluate(box, layer, template_of(layer),
                 {"--algorithm", layer.algorithm, "--shape", "M=1,N=8,K=" + std::to_string(limit + 1)});
    INFO(result.err);
    CHECK(result.exit_code == code(ExitCode::usage));
    CHECK(result.err.find("the constraint 'K <= " + std::to_string(limit) + "' does not hold") !=
          std::string::npos);
  }
  for (const std::size_t wgmma : {1, 5, 7}) {
    const Layer& layer = kLayers[wgmma];
    const ProgramResult result = evaluate(
        box, layer, template_of(layer), {"--algorithm", layer.algorithm, "--shape", "M=1,N=8,K=16"}, "sm_80");
    INFO(result.out << result.err);
    CHECK(result.exit_code == code(ExitCode::no_kernel));
    CHECK((result.out + result.err).find("the constraint 'ARCH == 90' does not hold") != std::string::npos);
  }
}

TEST_CASE("scales of another size are refused with the size that they have to have") {
  Sandbox box;
  const fs::path folder = "linear_inputs_test.inputs";  // below the working directory
  fs::create_directories(folder);
  const auto put = [&](const std::string& name, std::size_t bytes) {
    write_file_atomically(folder / ("m17_n40_k144.given." + name + ".bin"), std::string(bytes, '\0'));
  };
  put("x", 17 * 144);
  put("weight", 40 * 144);
  put("x_scale", 2 * 17 * 4);
  put("weight_scale", 2 * 4);
  const std::string request = Json{
      {"problem", "linear_fp8"},
      {"workload", "m17_n40_k144"},
      {"folder", folder.string()},
      {"device", "emulator"}}.dump();
  const auto run = [&] { return box.run({"operations", "call", "run_reference", request}); };
  const ProgramResult right = run();
  INFO(right.out << right.err);
  CHECK(right.exit_code == 0);
  put("x_scale", 17 * 4);  // a scale a row, where blocks of 128 have two
  const ProgramResult wrong = run();
  INFO(wrong.out << wrong.err);
  CHECK(wrong.exit_code != 0);
  CHECK((wrong.out + wrong.err).find("expected 136 bytes, got 68") != std::string::npos);
  fs::remove_all(folder);
}

TEST_CASE("an exported linear layer refuses scales of another size, by name") {
  Sandbox box;
  const fs::path folder = box.folder / "exported";
  const ProgramResult result =
      box.run({"export", template_of(kLayers[0]).string(), "--algorithm", "linear_fp8", "--arch", "sm_90a",
               "--name", "layer", "--output", folder.string()});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  const std::string operators = read_file(folder / "torch" / "layer_torch.cpp");
  CHECK(operators.find("x_scale.sizes() == at::IntArrayRef(std::vector<int64_t>{layer_axis_XG(shape), "
                       "layer_axis_XR(shape)})") != std::string::npos);
  CHECK(operators.find("\"x_scale has to be [XG, XR], is \"") != std::string::npos);
  CHECK(operators.find("\"weight_scale has to be [WR, WG], is \"") != std::string::npos);
}
