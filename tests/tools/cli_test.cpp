// SPDX-License-Identifier: Apache-2.0
// The program as a user meets it: real binary, real files, no GPU needed.
#include <catch2/catch.hpp>
#include <csignal>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

TEST_CASE("without a GPU a run builds variants, says that nothing was executed, and writes the four files") {
  Sandbox box;
  const ProgramResult result = box.generate({"--seed", "1"});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.err.find("nothing is executed") != std::string::npos);
  CHECK(result.out.find("nothing was executed") != std::string::npos);
  for (const char* name : {"k.cu", "k.explanation.md", "k.test.cu", "k.result.json"}) CHECK(box.exists(name));
  CHECK(read_file(box.folder / "k.explanation.md").find("executed") != std::string::npos);
  const Json json = parse_json(read_file(box.folder / "k.result.json"));
  CHECK(json["executed"] == false);
  CHECK(json["best"]["status"] == "compiled_only");
  CHECK(json["best"]["score_ns"].is_null());
}

TEST_CASE("every variant tried is a row that query shows") {
  Sandbox box;
  REQUIRE(box.generate({"--seed", "1"}).exit_code == 0);
  const ProgramResult result = box.run(
      {"query", "--format", "csv", "SELECT count(*) AS n FROM evaluations WHERE status = 'compiled_only'"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.out.find("3") != std::string::npos);
}

TEST_CASE("--json prints one object and nothing else on stdout") {
  Sandbox box;
  const ProgramResult result = box.generate({"--seed", "1", "--json"});
  REQUIRE(result.exit_code == 0);
  REQUIRE(is_one_line(result.out));
  CHECK(parse_json(result.out)["evaluations"] == 3);
}

TEST_CASE("the same seed proposes the same variants in the same order") {
  Sandbox first, second;
  // One compile worker, so that builds also end in the order they were proposed in.
  REQUIRE(first.generate({"--seed", "7", "--workers", "1"}).exit_code == 0);
  REQUIRE(second.generate({"--seed", "7", "--workers", "1"}).exit_code == 0);
  const std::vector<std::string> sql{"query", "--format", "csv", "SELECT tunables FROM variants ORDER BY id"};
  const std::string tried = first.run(sql).out;
  CHECK(tried.size() > 20);
  CHECK(tried == second.run(sql).out);
}

TEST_CASE("a file the run wrote evaluates with no other flag than where to run it") {
  Sandbox box;
  REQUIRE(box.generate({"--seed", "1", "--dtype", "fp16"}).exit_code == 0);
  const ProgramResult result =
      box.run({"evaluate", (box.folder / "k.cu").string(), "--device", "none", "--arch", "sm_90a"});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("compiled_only") != std::string::npos);
}

TEST_CASE("a mistake on the command line is one line that says what to do, with the documented exit code") {
  Sandbox box;
  struct Row {
    std::vector<std::string> arguments;
    ExitCode expected;
    std::string words;
  };
  box.write("empty.cu", "");
  box.write("text.db", "this is not a database, just a text file that is long enough to have a header");
  box.write("noplan.cu", "__global__ void k() {}\n");
  box.write(
      "own.cu",
      "/* alphakernel\n{\"problem\": \"my_own_thing\", \"launches\": [{\"kernel\": \"k\", \"grid\": [1], "
      "\"block\": [32], \"args\": []}]}\n*/\n__global__ void k() {}\n");
  const std::string own = (box.folder / "own.cu").string();
  const std::string out = (box.folder / "k.cu").string();
  const std::vector<Row> rows{
      {{"generat"}, ExitCode::usage, "generate"},
      {{"generate", "--algorithm", "sofmax", "--output", out}, ExitCode::usage, "softmax"},
      {{"generate", "--algorithm", "softmax", "--outptu", out}, ExitCode::usage, "--output"},
      {{"generate", "--algorithm", "softmax", "--dtype", "int4", "--arch", "sm_90a", "--device", "none",
        "--output", out},
       ExitCode::usage,
       "float32"},
      {{"generate", "--algorithm", "softmax", "--arch", "sm_42", "--device", "none", "--output", out},
       ExitCode::usage,
       "sm_42"},
      {{"generate", "--algorithm", "softmax", "--arch", "h20O", "--device", "none", "--output", out},
       ExitCode::usage,
       "h200"},
      {{"generate", "--algorithm", "softmax", "--shape", "M=0,N=4", "--arch", "sm_90a", "--device", "none",
        "--output", out},
       ExitCode::usage,
       "M"},
      {{"evaluate", AK_SOURCE_DIR "/templates/softmax/softmax_online.cu", "--algorithm", "softmax", "--shape",
        "M=2,M=3,N=4"},
       ExitCode::usage,
       "--shape M=2,M=3,N=4: the axis M is there twice"},
      {{"evaluate", AK_SOURCE_DIR "/templates/softmax/softmax_online.cu", "--algorithm", "softmax", "--shape",
        "2,4"},
       ExitCode::usage,
       "--shape 2,4: expected NAME=INTEGER"},
      {{"generate", "--algorithm", "softmax", "--shape", "Q=4", "--arch", "sm_90a", "--device", "none",
        "--output", out},
       ExitCode::usage,
       "Q"},
      {{"generate", "--algorithm", "softmax", "--arch", "sm_90a", "--device", "none", "--output",
        "/nonexistent/k.cu"},
       ExitCode::output,
       "/nonexistent"},
      {{"generate", "--algorithm", "softmax", "--arch", "sm_90a", "--device", "none", "--strategy", "randon",
        "--output", out},
       ExitCode::usage,
       "random"},
      {{"generate", "--algorithm", "softmax", "--arch", "sm_90a", "--device", "none", "--output", out, "--db",
        (box.folder / "text.db").string()},
       ExitCode::database,
       "not a database"},
      {{"generate", "--algorithm", "vector_add", "--arch", "sm_90a", "--device", "none", "--output", out,
        "--start", (box.folder / "empty.cu").string()},
       ExitCode::bad_input,
       "empty"},
      {{"generate", "--algorithm", "vector_add", "--arch", "sm_90a", "--device", "none", "--output", out,
        "--start", (box.folder / "noplan.cu").string()},
       ExitCode::bad_input,
       "noplan.cu"},
      {{"generate", "--problem", "/nonexistent", "--output", out}, ExitCode::bad_input, "/nonexistent"},
      {{"generate", "--algorithm", "softmax", "--model", "local:http://localhost:9/v1#x", "--max-cost-usd",
        "1", "--arch", "sm_90a", "--device", "none", "--output", out},
       ExitCode::usage,
       "price"},
      {{"generate", "--algorithm", "softmax", "--arch", "sm_90a", "--device", "none", "--strategy", "random",
        "--stop-when-done", "1%", "--output", out},
       ExitCode::usage,
       "--strategy random learns from no answers"},
      {{"evaluate", "/nonexistent.cu"}, ExitCode::bad_input, "/nonexistent.cu"},
      {{"evaluate", own, "--device", "none"}, ExitCode::usage, "name its folder with --problem DIR"},
      {{"operations", "call", "evaluate", R"({"path": ")" + own + R"("})"},
       ExitCode::usage,
       "name its folder with --problem DIR"},
      {{"export", AK_SOURCE_DIR "/templates/gemm/gemm_wgmma.cu", "--algorithm", "gemm", "--dtype", "bf16",
        "--arch", "sm_80", "--output", (box.folder / "exported").string()},
       ExitCode::no_kernel,
       "this kernel is not for sm_80 with these parameters: it needs ARCH == 90"},
      {{"query", "SELEC 1"}, ExitCode::database, ""},
      {{"query", "--format", "cvs", "SELECT 1"}, ExitCode::usage, "csv"},
  };
  for (const Row& row : rows) {
    const ProgramResult result = box.run(row.arguments);
    std::string shown;
    for (const std::string& argument : row.arguments) shown += argument + " ";
    INFO(shown << "\n" << result.err);
    CHECK(result.exit_code == code(row.expected));
    CHECK(result.err.rfind("error: ", 0) == 0);
    CHECK(is_one_line(result.err));
    CHECK(result.err.find(row.words) != std::string::npos);
    CHECK_FALSE(box.exists("k.cu"));
  }
}

TEST_CASE(
    "where no template is for the architecture, a run builds nothing and says what each template needs") {
  Sandbox box;
  const ProgramResult result = box.run({"generate", "--algorithm", "gemm", "--arch", "sm_75", "--device",
                                        "none", "--output", (box.folder / "k.cu").string()});
  INFO(result.err);
  CHECK(result.exit_code == code(ExitCode::no_kernel));
  CHECK(result.err.find("error: no kernel template of gemm is for sm_75") != std::string::npos);
  CHECK(result.err.find("gemm_mma.cu needs ARCH >= 80") != std::string::npos);
  CHECK_FALSE(box.exists("k.cu"));
}

TEST_CASE("a worker says how it is started, which is no mistake where it is asked for") {
  Sandbox box;
  const ProgramResult asked = box.run({"worker", "--help"});
  CHECK(asked.exit_code == 0);
  CHECK(asked.out.starts_with("usage: alphakernel worker --connect HOST:PORT"));
  CHECK(asked.err.empty());
  const ProgramResult wrong = box.run({"worker", "--rol", "compile"});
  CHECK(wrong.exit_code == code(ExitCode::usage));
  CHECK(wrong.err == asked.out);
}

TEST_CASE("a mistake in a query shows the place and exits as bad input") {
  Sandbox box;
  REQUIRE(box.generate({"--seed", "1"}).exit_code == 0);
  const ProgramResult result = box.run({"query", "SELECT nope FROM evaluations"});
  CHECK(result.exit_code == code(ExitCode::bad_input));
  CHECK(result.err.find("nope") != std::string::npos);
  const ProgramResult write = box.run({"query", "DELETE FROM evaluations"});
  CHECK(write.exit_code == code(ExitCode::bad_input));
  CHECK(box.run({"query", "--format", "csv", "SELECT count(*) FROM evaluations"}).out.find("3") !=
        std::string::npos);
}

TEST_CASE("a configuration file sets defaults, and a wrong key in it is named") {
  Sandbox box;
  box.write("config.json", R"({"arch": "sm_80", "device": "none"})");
  CHECK(box.run({"generate", "--algorithm", "vector_add", "--max-evaluations", "1", "--output",
                 (box.folder / "k.cu").string()})
            .exit_code == 0);
  box.write("config.json", R"({"databse": "x"})");
  const ProgramResult result = box.run({"query", "SELECT 1"});
  CHECK(result.exit_code == code(ExitCode::bad_input));
  CHECK(result.err.find("database") != std::string::npos);
}

TEST_CASE("Ctrl-C stops a run cleanly, keeps the best so far and leaves no process behind") {
  Sandbox box;
  const ProgramResult result =
      box.run({"generate", "--algorithm", "softmax", "--dtype", "bf16", "--arch", "sm_90a", "--device",
               "none", "--strategy", "exhaustive", "--output", (box.folder / "k.cu").string()},
              {.number = SIGINT, .after_file = box.folder / "k.cu"});
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::interrupted));
  CHECK(box.exists("k.cu"));
  const ProgramResult searches = box.run({"query", "--format", "csv", "SELECT status FROM searches"});
  CHECK(searches.out.find("stopped") != std::string::npos);
}

TEST_CASE("--help teaches: every subcommand has a usage, examples and its flags") {
  Sandbox box;
  CHECK(box.run({"--help"}).out.find("generate_kernel") != std::string::npos);
  for (const char* verb : {"generate", "evaluate", "query", "algorithms", "devices", "doctor", "problem"}) {
    const ProgramResult result = box.run({verb, "--help"});
    INFO(verb << result.err);
    CHECK(result.exit_code == 0);
    CHECK(result.out.size() > 150);
  }
  CHECK(box.run({"generate", "--help", "--algorithm", "softmax"}).out.find("--dtype") != std::string::npos);
}

TEST_CASE("devices shows what is known of a device, with the user's figures above the shipped ones") {
  Sandbox box;
  CHECK(box.run({"devices", "--catalog"}).out.find("NVIDIA H200") != std::string::npos);
  const ProgramResult shown = box.run({"devices", "show", "h200"});
  INFO(shown.out << shown.err);
  CHECK(shown.out.find("tensor_clock_mhz             1830 MHz") != std::string::npos);
  CHECK(shown.out.find("[NVIDIA H200 Tensor Core GPU data sheet]") != std::string::npos);
  CHECK(box.run({"devices", "show", "rtx5O90"}).err.find("did you mean 'rtx5090'?") != std::string::npos);
  std::filesystem::create_directories(box.folder / "devices");
  write_file_atomically(box.folder / "devices/mine.json",
                        R"({"name": "h200", "figures": {"power_limit_w": [450, "our racks"]}})");
  const Json json = parse_json(box.run({"devices", "show", "h200", "--json"}).out);
  CHECK(json["figures"]["power_limit_w"] == Json({450.0, "our racks"}));
  write_file_atomically(box.folder / "devices/mine.json", R"({"name": "h200", "figures": {"power": []}})");
  const ProgramResult bad = box.run({"devices", "show", "h200"});
  CHECK(bad.exit_code == code(ExitCode::bad_input));
  CHECK(bad.err.find("devices/mine.json: figures.power: no such property") != std::string::npos);
}

TEST_CASE("doctor names every part and how to get what is missing") {
  Sandbox box;
  const ProgramResult result = box.run({"doctor"});
  INFO(result.out);
  for (const char* part : {"driver", "NVRTC", "CUPTI", "NVML", "Landlock", "seccomp", "privileges",
                           "memory cap", "watchdog", "core dumps", "disk", "templates"}) {
    CHECK(result.out.find(part) != std::string::npos);
  }
}
