// SPDX-License-Identifier: Apache-2.0
// `alphakernel tune` as a user meets it, on the CPU device.
#include <catch2/catch.hpp>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

/// vector_add with 4 x 2 points, of which two and two are the same program: nothing depends on SPARE. The
/// smaller BLOCK is, the more work is done for nothing.
std::string vector_add(const std::string& constraints,
                       const std::string& body = "if (i < n) c[i] = a[i] + b[i];") {
  return R"cu(/* alphakernel
{"problem": "vector_add", "params": {"dtype": "float32"},
 "tunables": {"BLOCK": {"values": [64, 128, 256, 512], "default": 128}, "SPARE": {"values": [0, 1], "default": 0}},
 "constraints": [)cu" +
         constraints + R"cu(],
 "launches": [{"kernel": "k", "grid": ["ceil_div(N, BLOCK)"], "block": ["BLOCK"],
               "args": ["a", "b", "c", {"i64": "N"}]}]}
*/
extern "C" __global__ void k(const float* a, const float* b, float* c, long long n) {
  const long long i = blockIdx.x * 1ll * blockDim.x + threadIdx.x;
  for (volatile int r = 0; r < 512 / BLOCK; r = r + 1)
    )cu" +
         body + "\n}\n";
}

ProgramResult tune(Sandbox& box, const std::string& file, const std::vector<std::string>& extra = {}) {
  std::vector<std::string> arguments{"tune",   file, "--device", "emulator",
                                     "--seed", "1",  "--shape",  "N=3000"};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return box.run(arguments);
}

int evaluated(Sandbox& box, const std::string& search) {
  return std::stoi(
      box.query("SELECT count(*) FROM proposals WHERE arm IN ('start', 'known', 'exhaustive', "
                "'portfolio') AND search_id = " +
                search));
}

}  // namespace

TEST_CASE("tune goes through all points of a file, counts the same program once, and says which are best") {
  Sandbox box;
  const ProgramResult result = tune(box, box.write("my.cu", vector_add("")));
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.out.find("best points (times predicted, not measured):\n  1. ") != std::string::npos);
  CHECK(result.out.find("(space exhausted)") != std::string::npos);
  CHECK(result.out.find("4 of them were the same program as another") != std::string::npos);
  const Json json = parse_json(read_file(box.folder / "my.tuned.result.json"));
  CHECK(json["evaluations"] == 8);
  CHECK(json["duplicates"] == 4);
  CHECK(json["leaders"].size() == 8);
  CHECK(json["leaders"][0]["score_ns"] == json["best"]["score_ns"]);
  CHECK(json["best"]["tunables"]["BLOCK"] == 512);
  CHECK(json["ties"].empty());
  CHECK(box.exists("my.tuned.cu"));
  CHECK(box.query("SELECT evaluations || ' ' || passed FROM strategies") == "8 8\r\n");
}

TEST_CASE("a pool of devices, here and launched, finds what one device finds, each point once") {
  Sandbox box;
  const std::string pool = box.write(
      "pool.json",
      R"({"devices": [{"local": "emulator"}, {"launch": "env", "device": "emulator", "count": 2}]})");
  const ProgramResult result = box.run({"tune", box.write("my.cu", vector_add("")), "--pool", pool, "--seed",
                                        "1", "--shape", "N=3000", "--strategy", "exhaustive"});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  const Json json = parse_json(read_file(box.folder / "my.tuned.result.json"));
  CHECK(json["evaluations"] == 8);
  CHECK(json["duplicates"] == 4);
  CHECK(json["best"]["tunables"]["BLOCK"] == 512);
  CHECK(
      box.query("SELECT count(DISTINCT variant_id) || ' ' || count(*) FROM proposals WHERE arm IN ('start', "
                "'exhaustive')") == "8 8\r\n");
  CHECK_THAT(box.run({"tune", (box.folder / "my.cu").string(), "--pool", "absent.json"}).err,
             Catch::Contains("absent.json"));
  CHECK_THAT(tune(box, (box.folder / "my.cu").string(), {"--pool", pool}).err,
             Catch::Contains("leave --device emulator out"));
  CHECK_THAT(box.run({"evaluate", (box.folder / "my.cu").string(), "--device", "cuda:0,1"}).err,
             Catch::Contains("names several GPUs, and this runs on one"));
}

TEST_CASE(
    "a brute force that was stopped continues where it was, and measures all again only when asked to") {
  Sandbox box;
  const std::string file = box.write("my.cu", vector_add("\"SPARE == 0 or BLOCK > 64\""));
  REQUIRE(tune(box, file, {"--strategy", "exhaustive", "--max-evaluations", "2"}).exit_code == 0);
  const ProgramResult second = tune(box, file, {"--strategy", "exhaustive"});
  INFO(second.out << second.err);
  CHECK(second.out.find("(space exhausted)") != std::string::npos);
  CHECK(box.query("SELECT reason FROM searches") == "evaluation budget\r\nspace exhausted\r\n");
  // 7 points. Both searches begin with the file's own point; the other one that is known is measured again.
  CHECK(box.query(
            "SELECT count(DISTINCT variant_id) FROM proposals WHERE search_id = 2 AND arm = 'exhaustive'") ==
        "5\r\n");
  CHECK(box.query("SELECT count(*) FROM proposals WHERE search_id = 2 AND arm = 'known'") == "1\r\n");
  const ProgramResult third = tune(box, file);
  INFO(third.out << third.err);
  CHECK(third.exit_code == 0);
  CHECK(evaluated(box, "3") <= 6);  // the start and the fastest five
  CHECK(third.out.find(" measured by earlier searches, and not again") != std::string::npos);
  CHECK(box.query("SELECT resumed FROM strategies WHERE search = 3") == "1\r\n");
  CHECK(tune(box, file, {"--fresh"}).exit_code == 0);
  CHECK(evaluated(box, "4") == 7);
}

TEST_CASE(
    "a space without points, a constraint about nothing and a kernel that never works are distinguished") {
  Sandbox box;
  const auto words = [&](const std::string& source) {
    const ProgramResult result = tune(box, box.write("bad.cu", source));
    CHECK_FALSE(result.exit_code == 0);
    return result.out + result.err;
  };
  CHECK_THAT(words(vector_add(R"("BLOCK > 300", "SPARE == 0", "BLOCK * 2 <= 256")")),
             Catch::Contains("BLOCK > 300 and BLOCK * 2 <= 256") && !Catch::Contains("SPARE == 0"));
  CHECK_THAT(words(vector_add(R"("BLOCK % VEK == 0")")),
             Catch::Contains("the constraint 'BLOCK % VEK == 0' names 'VEK'"));
  CHECK_THAT(words(vector_add(R"("SPARE == 0")", "if (i < n) c[i] = a[i] - b[i];")),
             Catch::Contains("no verified kernel was found") && Catch::Contains("4 ended as incorrect: "));
  const ProgramResult unknown =
      box.run({"tune", (box.folder / "bad.cu").string(), "--problem", "", "--device", "emulator"});
  CHECK(unknown.exit_code != 0);
  CHECK(box.run({"tune", "missing.cu"}).exit_code == code(ExitCode::bad_input));
  CHECK(box.run({"tune"}).exit_code == code(ExitCode::usage));
}

TEST_CASE("best points are exported, looked up by shape and device, and say what is not as asked for") {
  Sandbox box;
  const std::string file = box.write("my.cu", vector_add("\"N % 8 == 0\"", "if (i < n) c[i] = a[i] + b[i];"));
  REQUIRE(tune(box, file, {"--no-prior"}).exit_code == 0);
  const std::string best = (box.folder / "best.json").string();
  const ProgramResult exported = box.run({"best", "export", "--output", best});
  INFO(exported.out << exported.err);
  REQUIRE(exported.exit_code == 0);
  const auto look_up = [&](const std::string& shape, const std::string& arch,
                           const std::vector<std::string>& extra) {
    std::vector<std::string> arguments{"best", "lookup",  best,  "--algorithm", "vector_add", "--dtype",
                                       "fp32", "--shape", shape, "--arch",      arch,         "--json"};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    return box.run(arguments);
  };
  const Json exact = parse_json(look_up("N=3000", "sm_90a", {"--emulated"}).out);
  CHECK(exact["exact"] == true);
  CHECK(exact["tunables"] == parse_json(read_file(box.folder / "my.tuned.result.json"))["best"]["tunables"]);
  CHECK(exact["emulated"] == true);
  CHECK(exact["time_ns"].get<double>() > 0);
  const std::string shape = parse_json(look_up("N=6000", "sm_90a", {"--emulated"}).out)["note"];
  CHECK(shape == "not exact: measured for the shape N=3000, 1 doublings from N=6000");
  const std::string device = parse_json(look_up("N=3000", "h200", {}).out)["note"];
  CHECK_THAT(device,
             Catch::Contains("measured on CPU emulator of sm_90a: a cost estimated on the CPU device"));
  CHECK(look_up("N=3001", "sm_90a", {"--emulated"}).exit_code == code(ExitCode::no_kernel));  // 3001 % 8
  CHECK_THAT(look_up("N=3000", "sm_80", {}).out, Catch::Contains("no point of vector_add_fp32 is known"));
  Json newer = parse_json(read_file(best));
  newer["version"] = 99;
  box.write("best.json", newer.dump());
  const ProgramResult refused = look_up("N=3000", "sm_90a", {});
  CHECK(refused.exit_code == code(ExitCode::bad_input));
  CHECK_THAT(refused.err,
             Catch::Contains("has format 99; this AlphaKernel reads up to 1: update AlphaKernel"));
  box.write("best.json", "{}");
  CHECK(look_up("N=3000", "sm_90a", {}).exit_code == code(ExitCode::bad_input));
}

TEST_CASE(
    "a search begins with the points of a file and with what is known of other shapes, unless asked not to") {
  Sandbox box;
  const std::string file = box.write("my.cu", vector_add(""));
  REQUIRE(tune(box, file).exit_code == 0);
  REQUIRE(box.run({"best", "export", "--output", (box.folder / "best.json").string()}).exit_code == 0);
  std::string said;
  const auto arms = [&](const std::string& shape, const std::vector<std::string>& extra) {
    std::vector<std::string> arguments{"tune", file,     "--device", "emulator",          "--shape",
                                       shape,  "--seed", "2",        "--max-evaluations", "2"};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    const ProgramResult result = box.run(arguments);
    INFO(result.out << result.err);
    REQUIRE(result.exit_code == 0);
    said = result.err;
    return box.query(
        "SELECT DISTINCT arm FROM proposals WHERE search_id = (SELECT max(id) FROM searches) AND "
        "arm NOT IN ('held_out', 'examination') ORDER BY iteration");
  };
  CHECK(arms("N=3000", {"--fresh"}) == "start\r\nportfolio\r\n");  // nothing to transfer to itself
  CHECK(arms("N=5000", {"--best", (box.folder / "best.json").string()}) == "start\r\nbest\r\n");
  CHECK(arms("N=7000", {}) == "start\r\nportfolio\r\n");
  CHECK_THAT(said, Catch::Contains("note: the search begins with") &&
                       Catch::Contains(" answers of 1 device and 2 shapes"));
  CHECK(arms("N=9000", {"--no-prior"}) == "start\r\nportfolio\r\n");
  CHECK_THAT(said, !Catch::Contains("the search begins with"));
  arms("N=9000", {"--no-transfer"});
  CHECK_THAT(said, Catch::Contains("--no-transfer is one half of --no-prior now") &&
                       !Catch::Contains("begins with"));
}
