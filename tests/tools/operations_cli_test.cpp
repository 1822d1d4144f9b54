// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

TEST_CASE("operations are listed for people, with schemas for programs, and as the files of the clients") {
  Sandbox box;
  const std::string root = std::string(AK_SOURCE_DIR) + "/";
  CHECK(box.run({"operations"}).out.find("\nsearch  Reads the database") != std::string::npos);
  const Json table = parse_json(box.run({"operations", "--json"}).out);
  CHECK(table["operations"].size() > 10);
  CHECK(table["operations"][0]["answer"]["type"] == "object");
  CHECK(box.run({"operations", "--cpp"}).out == read_file(root + "include/alphakernel/operations.h"));
  CHECK(box.run({"operations", "--python"}).out == read_file(root + "python/alphakernel/operations.py"));
  CHECK(box.run({"operations", "--markdown"}).out == read_file(root + "docs/operations.md"));
}

TEST_CASE("one operation is called with a request from a file, and its answer decides the exit code") {
  Sandbox box;
  const auto call = [&](const std::string& name, const std::string& request) {
    return box.run({"operations", "call", name, box.write("request.json", request)});
  };
  const ProgramResult shown = call("show_devices", R"({"name": "h200"})");
  CHECK(shown.exit_code == 0);
  CHECK(is_one_line(shown.out));
  CHECK(parse_json(shown.out)["name"] == "NVIDIA H200");
  CHECK(box.run({"operations", "call", "list_problems"}).exit_code == 0);
  const Json broken{{"source", "__global__ void k() { error }"}, {"problem", "vector_add"}};
  CHECK(call("evaluate", broken.dump()).exit_code != 0);
  const ProgramResult failed =
      call("evaluate", R"({"path": ")" + box.write("k.cu", R"(/* alphakernel
{"launches": [{"kernel": "k", "grid": [1], "block": [1], "args": ["a", "b", "c"]}]} */
extern "C" __global__ void k(const float* a, const float* b, float* c) { error; })") +
                           R"(", "problem": "vector_add", "device": "none", "arch": "sm_90a"})");
  CHECK(failed.exit_code == code(ExitCode::no_kernel));
  CHECK(parse_json(failed.out)["status"] == "compile_error");
  CHECK(call("show_devices", R"({"nme": "h200"})").exit_code == code(ExitCode::usage));
  CHECK(call("no_operation", "{}").exit_code == code(ExitCode::usage));
  CHECK(call("show_devices", "{").exit_code == code(ExitCode::bad_input));
  const auto directly = [&](const std::string& request) {
    return box.run({"operations", "call", "show_devices", request});
  };
  CHECK(parse_json(directly(R"({"name": "h200"})").out)["name"] == "NVIDIA H200");
  CHECK(directly("{").exit_code == code(ExitCode::bad_input));
  CHECK(directly("{").err.find("error: the request: ") != std::string::npos);
  CHECK(box.run({"operations", "call", "show_devices", "/no/such/file"}).exit_code ==
        code(ExitCode::bad_input));
}
