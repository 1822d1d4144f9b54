// SPDX-License-Identifier: Apache-2.0
#include "codegen/export/export.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "codegen/emit/emit.h"
#include "codegen/emit/launch_text.h"
#include "codegen/export/cpp_expression.h"
#include "codegen/export/run_function.h"
#include "codegen/problem/problem_catalog.h"
#include "core/text/file.h"
#include "tests/codegen/shipped_templates.h"
#include "tests/support/daily_sample.h"
#include "tests/support/temporary_folder.h"

using namespace ak;
using namespace ak::codegen::shipped;
using ak::testing::TemporaryFolder;

namespace {

const codegen::ExportFacts kFacts{.version = "1.0", .measured = "Nowhere.\n", .origin = "Yours."};

void write_in(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  std::filesystem::create_directories((folder / name).parent_path());
  write_file_atomically(folder / name, text);
}

std::string file_of(const std::vector<codegen::ExportedFile>& files, const std::string& path) {
  const auto found = std::ranges::find(files, path, &codegen::ExportedFile::path);
  REQUIRE(found != files.end());
  return found->text;
}

struct Exported {
  const char* problem;
  std::map<std::string, std::string> params;
  const char* file;
  Arch arch;
  bool benchmark;  ///< compiled, too: takes seconds
};

void require_nvcc_accepts(const Exported& what) {
  INFO(what.problem << " " << what.file);
  const auto problem = problem_of(what.problem, what.params);
  const auto files = codegen::export_files(*problem, template_of(*problem, what.file), what.arch, kFacts);
  REQUIRE(files.ok());
  if (nvcc_is_missing()) return;
  const TemporaryFolder folder;
  for (const codegen::ExportedFile& file : *files) write_in(folder, file.path, file.text);
  const std::string name = codegen::export_name(problem->definition);
  const std::string target = fmt::format(
      "-std=c++20 -gencode arch=compute_{0},code=sm_{0} -Werror all-warnings", what.arch.sm().substr(3));
  const Ended launch =
      shell(folder.path(), fmt::format("nvcc {0} -O1 -c {1}_launch.cu -o l.o", target, name));
  INFO(launch.output);
  CHECK(launch.exit_code == 0);
  if (!what.benchmark) return;
  const Ended linked =
      shell(folder.path(), fmt::format("nvcc {0} -O0 {1}_benchmark.cu l.o -o b && ./b --help", target, name));
  INFO(linked.output);
  CHECK(linked.exit_code == 0);
  const Ended configured = shell(folder.path(), "cmake -S . -B build");
  INFO(configured.output);
  CHECK(configured.exit_code == 0);
}

TEST_CASE("an exported kernel compiles with nvcc, launch function, benchmark and all") {
  require_nvcc_accepts(
      {"softmax", {{"dtype", "bfloat16"}}, "softmax_registers.cu", kAmpere, testing::drawn_today(0, 2)});
}

TEST_CASE("two exports of one definition under two names are linked into one program") {
  const auto problem = problem_of("softmax", {{"dtype", "bfloat16"}});
  const Candidate candidate = template_of(*problem, "softmax_online.cu");
  const TemporaryFolder folder;
  for (const char* name : {"one", "two"}) {
    const auto files = codegen::export_files(*problem, candidate, kAmpere, kFacts, name);
    REQUIRE(files.ok());
    for (const codegen::ExportedFile& file : *files) write_in(folder, file.path, file.text);
  }
  write_in(folder, "main.cu",
           "#include \"one.h\"\n#include \"two.h\"\nint main() {\n"
           "  return one_refusal(one_shape()) == nullptr || two_refusal(two_shape()) == nullptr;\n}\n");
  if (nvcc_is_missing()) return;
  const Ended linked = shell(folder.path(),
                             "nvcc -std=c++20 -gencode arch=compute_80,code=sm_80 -O0 main.cu one_launch.cu "
                             "two_launch.cu -o program && ./program");
  INFO(linked.output);
  CHECK(linked.exit_code == 0);
}

TEST_CASE("several launches, workspace, tensor maps, clusters and memory in place are exported") {
  const Exported all[] = {
      {"reduce_sum", {{"dtype", "float16"}}, "reduce_sum_single_pass.cu", kAmpere, false},
      {"gemm", {{"dtype", "bfloat16"}}, "gemm_wgmma.cu", kHopper, false},
      {"transpose_inplace", {{"dtype", "float32"}}, "transpose_tile_pairs.cu", kAmpere, false}};
  for (std::size_t i = 0; i < std::size(all); ++i)
    if (testing::drawn_today(i, std::size(all))) require_nvcc_accepts(all[i]);
}

TEST_CASE("a kernel that prepares weights is exported with the function that does") {
  require_nvcc_accepts(
      {"linear", {{"dtype", "bfloat16"}}, "linear_transposed.cu", kAmpere, testing::drawn_today(1, 2)});
  const auto problem = problem_of("linear", {{"dtype", "bfloat16"}});
  const auto files =
      codegen::export_files(*problem, template_of(*problem, "linear_transposed.cu"), kAmpere, kFacts);
  REQUIRE(files.ok());
  const std::string name = codegen::export_name(problem->definition), header = file_of(*files, name + ".h");
  CHECK_THAT(header, Catch::Contains(name + "_prepare(const " + name +
                                     "_shape& shape, const void* weight, const void* bias, void* prepared"));
  CHECK_THAT(header, Catch::Contains(name + "_prepared_bytes("));
  CHECK_THAT(header, Catch::Contains("depends on the weights and on N and K:"));
  CHECK_THAT(header, Catch::Contains("const void* prepared, std::size_t prepared_bytes, void* workspace"));
  CHECK_THAT(file_of(*files, "README.md"), Catch::Contains(name + "_prepare(shape, weight, bias, prepared"));
  const std::string operators = file_of(*files, "torch/" + name + "_torch.cpp");
  CHECK_THAT(operators,
             Catch::Contains("m.def(\"" + name + "_prepare(Tensor x, Tensor weight, Tensor bias) -> Tensor"));
  CHECK_THAT(operators, Catch::Contains("m.def(\"" + name + "_prepared_out(Tensor prepared, Tensor x"));
}

TEST_CASE("a finished kernel is called from C++ through one header, which also compiles by itself") {
  for (const Exported& what :
       {Exported{"softmax", {{"dtype", "bfloat16"}}, "softmax_registers.cu", kAmpere, true},
        Exported{"gemm", {{"dtype", "bfloat16"}}, "gemm_wgmma.cu", kHopper, false}}) {
    INFO(what.file);
    const auto problem = problem_of(what.problem, what.params);
    const Candidate candidate = template_of(*problem, what.file);
    const auto header = codegen::launch_header(*problem, candidate, what.arch, "k.cu");
    REQUIRE(header.ok());
    CHECK(header->find("#include \"k.cu\"") != std::string::npos);
    if (nvcc_is_missing()) continue;
    const TemporaryFolder folder;
    write_in(folder, "k.cu", codegen::emit_kernel(*problem, candidate));
    write_in(folder, "k.launch.cuh", *header);
    const std::string name = codegen::export_name(problem->definition);
    write_in(folder, "use.cu",
             fmt::format("#include \"k.launch.cuh\"\nint main() {{\n  {0}_shape shape;\n"
                         "  return {0}_refusal(shape) == nullptr;\n}}\n",
                         name));
    const std::string target = fmt::format(
        "-std=c++17 -gencode arch=compute_{0},code=sm_{0} -Werror all-warnings", what.arch.sm().substr(3));
    const Ended alone = shell(folder.path(), fmt::format("nvcc {} -O1 -x cu -c k.launch.cuh -o k.o", target));
    INFO(alone.output);
    CHECK(alone.exit_code == 0);
    if (!what.benchmark) continue;
    const Ended used = shell(folder.path(), fmt::format("nvcc {} -O0 use.cu -o use && ./use", target));
    INFO(used.output);
    CHECK(used.exit_code == 0);
  }
}

TEST_CASE("every template of a problem can be exported for a target that it is for") {
  int exported = 0;
  for (const char* name :
       {"activation", "attention_backward", "attention_decode", "copy", "flash_attention", "gemm",
        "layernorm", "linear", "linear_fp8", "linear_int8", "linear_swiglu", "linear_w4a16", "linear_w8a16",
        "reduce_sum", "rmsnorm", "softmax", "transpose", "transpose_inplace", "vector_add"}) {
    const auto problem = problem_of(name, {{"dtype", "float16"}});
    for (const CandidateFile& file : problem->templates) {
      INFO(file.name);
      const auto files =
          codegen::export_files(*problem, parse_candidate(file.name, file.source).value(), kHopper, kFacts);
      if (!files.ok()) {  // a template of another type or target
        CHECK_THAT(files.error().message, Catch::Contains("does not hold"));
        continue;
      }
      ++exported;
      CHECK(file_of(*files, "README.md").find("sm_90a") != std::string::npos);
      CHECK(file_of(*files, "torch/reference.py").find("def run") != std::string::npos);
    }
  }
  CHECK(exported >= 26);
}

TEST_CASE("outputs in place of an input are no parameter, and the operator copies that input first") {
  const auto problem = problem_of("transpose_inplace", {{"dtype", "float32"}});
  const auto files =
      codegen::export_files(*problem, template_of(*problem, "transpose_tile_pairs.cu"), kHopper, kFacts);
  REQUIRE(files.ok());
  const std::string name = codegen::export_name(problem->definition);
  CHECK(file_of(*files, name + ".h").find(", void* x, void* workspace") != std::string::npos);
  CHECK(file_of(*files, "torch/" + name + "_torch.cpp").find("own_x = copied(x)") != std::string::npos);
}

TEST_CASE("what cannot be exported says why") {
  auto problem = *problem_of("softmax", {{"dtype", "float32"}});
  Candidate candidate = template_of(problem, "softmax_registers.cu");
  candidate.plan.constraints.push_back(Expression::parse("dtype == 'float16'").value());
  const auto refused = codegen::export_files(problem, candidate, kHopper, kFacts);
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.error().message,
             Catch::Contains("dtype == 'float16'") && Catch::Contains("does not hold"));
  problem.definition.inputs.front().shape.reset();
  const auto scalar = codegen::export_files(problem, candidate, kHopper, kFacts);
  REQUIRE_FALSE(scalar.ok());
  CHECK_THAT(scalar.error().message, Catch::Contains("no input tensors"));
}

TEST_CASE("a solution's reference fixes the params that its problem has") {
  const auto run_of = [](const char* name, const std::map<std::string, std::string>& params) {
    return codegen::reference_with_run(*problem_of(name, params));
  };
  CHECK_THAT(run_of("activation", {{"function", "relu"}}),
             Catch::EndsWith("def run(x):\n    return _run_with_params(x=x, function=\"relu\")\n"));
  CHECK_THAT(
      run_of("flash_attention", {{"causal", "true"}}),
      Catch::EndsWith(
          "return _run_with_params(q=q, k=k, v=v, causal=True, window=0, softcap=0, layout=\"heads\")\n"));
  const std::string gemm = run_of("gemm", {{"bias", "true"}, {"b_layout", "column"}});
  CHECK_THAT(gemm, Catch::Contains("def run(a, b, bias):\n") && Catch::Contains("b_layout=\"column\"") &&
                       !Catch::Contains("bias=True"));
  CHECK(run_of("softmax", {}).find("_run_with_params") == std::string::npos);
  // A tensor whose place another one has, which this definition lacks.
  CHECK_THAT(run_of("flash_attention", {{"sinks", "head"}}),
             Catch::Contains("def run(q, k, v, sinks):\n") && Catch::Contains("sinks=sinks"));
}

TEST_CASE("a reference in a Python file of any form becomes a function run()") {
  auto problem = *problem_of("softmax", std::map<std::string, std::string>{});
  const auto run_of = [&](const char* kind, const std::string& source) {
    problem.python = PythonReference{.file = "", .source = source, .kind = kind};
    return codegen::reference_with_run(problem);
  };
  const std::string own = "def run(x):\n    return x\n";
  CHECK(run_of("function", own) == own);
  CHECK_THAT(run_of("function", "def _help(x):\n    return x\ndef double(x):\n    return 2 * x\n"),
             Catch::Contains("return double(*args, **kwargs)"));
  CHECK_THAT(run_of("function", own + "\ndef get_inputs():\n    return [1]\n"),
             Catch::Contains("drawn = get_inputs()"));
  CHECK_THAT(run_of("kernelbench", "class Model(torch.nn.Module):\n    pass\n"),
             Catch::Contains("_MODULES.append(Model(") && Catch::Contains("def run(x):"));
  const std::string board = "def ref_kernel(data):\n    return data\n";
  CHECK(run_of("gpu_mode", board) == board);  // x is none of what it takes
  problem.definition.inputs.front().name = "data_0";
  CHECK_THAT(run_of("gpu_mode", board),
             Catch::Contains("def run(data_0):\n    return ref_kernel((data_0,))"));
}

TEST_CASE("a solution compiles by the defaults of an evaluator's builder of PyTorch extensions") {
  const auto problem = problem_of("softmax", {{"dtype", "bfloat16"}});
  const auto solution =
      codegen::solution_files(*problem, template_of(*problem, "softmax_registers.cu"), kAmpere);
  REQUIRE(solution.ok());
  const std::string name = codegen::export_name(problem->definition);
  CHECK(solution->entry == name + "_binding.cpp::" + name);
  CHECK(solution->writes_outputs);
  CHECK(solution->files.front().path == name + ".cuh");  // no .cu, which would be compiled by itself
  CHECK_THAT(file_of(solution->files, name + "_binding.cpp"), Catch::Contains("&compute_out)"));
  if (nvcc_is_missing()) return;
  const TemporaryFolder folder;
  for (const codegen::ExportedFile& file : solution->files) write_in(folder, file.path, file.text);
  const Ended built =
      shell(folder.path(),
            "nvcc -std=c++17 -gencode arch=compute_80,code=sm_80 -D__CUDA_NO_HALF_OPERATORS__ "
            "-D__CUDA_NO_BFLOAT16_CONVERSIONS__ -D__CUDA_NO_HALF2_OPERATORS__ -c " +
                name + "_launch.cu -o l.o");
  INFO(built.output);
  CHECK(built.exit_code == 0);
}

TEST_CASE("a solution returns its outputs where an evaluator could not make them") {
  auto problem = *problem_of("softmax", {{"dtype", "float32"}});
  const Candidate candidate = template_of(problem, "softmax_registers.cu");
  Axis half;
  half.name = "H";
  half.derived = Expression::parse("N // 2").value();
  problem.definition.axes.push_back(half);
  problem.definition.outputs.front().shape = {{"M", "H"}};
  const auto solution = codegen::solution_files(problem, candidate, kAmpere);
  REQUIRE(solution.ok());
  CHECK_FALSE(solution->writes_outputs);
  CHECK_THAT(solution->files.back().text, Catch::Contains("&compute)"));
}

// ---- expressions ---------------------------------------------------------------------------------------

const std::vector<std::string> kExpressions{"a + b * 2 - 7",
                                            "-a // b",
                                            "a % b",
                                            "a // -3",
                                            "-a % 5",
                                            "ceil_div(a, b)",
                                            "round_up(a, 16)",
                                            "min(a, b, 3)",
                                            "max(a, b, 3)",
                                            "abs(b - a)",
                                            "is_pow2(a)",
                                            "ilog2(a)",
                                            "a ** 2",
                                            "2 ** b",
                                            "1 <= a < b",
                                            "a == b or a > 3",
                                            "a and b",
                                            "a and 0 or b",
                                            "not a",
                                            "a if a > b else b - 1",
                                            "a in [1, 2, b]",
                                            "a not in (3, 4)",
                                            "a if dtype == 'x' else b",
                                            "dtype in ['x', 'y'] and a",
                                            "12 / 4 + a",
                                            "a / b",
                                            "a // (b - b)",
                                            "ilog2(a - a)",
                                            "C * a",
                                            "a if C > 3 else 1 // 0",
                                            "a * a * a * a * a"};

TEST_CASE("C++ of an expression gives the value that the expression has, or refuses where it has none") {
  const Environment constants{{"dtype", std::string("x")}, {"C", std::int64_t{5}}};
  const std::map<std::string, std::string> variables{{"a", "ak_a"}, {"b", "ak_b"}};
  const std::vector<std::pair<std::int64_t, std::int64_t>> points{{1, 2}, {7, 3}, {64, 8}, {1'000'000, 5}};
  std::string program =
      "#include <cstdint>\n#include <cstdio>\n" + std::string(codegen::host_source("host_numbers.cuh")) +
      "using namespace ak_plan;\ntemplate <class F> void show(F f) {\n"
      "  try { std::printf(\"%lld\\n\", static_cast<long long>(f().value)); } catch (const Refusal&) { "
      "std::printf(\"none\\n\"); }\n}\n"
      "void all(Whole ak_a, Whole ak_b) {\n  static_cast<void>(ak_a), static_cast<void>(ak_b);\n";
  std::string expected;
  for (const std::string& text : kExpressions) {
    const auto written = codegen::cpp_expression(Expression::parse(text).value(), constants, variables);
    INFO(text);
    REQUIRE(written.ok());
    program += fmt::format("  show([&] {{ return {}; }});\n", written->code);
  }
  program += "}\nint main() {\n";
  for (const auto& [a, b] : points) {
    program += fmt::format("  all(Whole({}), Whole({}));\n", a, b);
    Environment environment = constants;
    environment["a"] = a;
    environment["b"] = b;
    for (const std::string& text : kExpressions) {
      const auto value = Expression::parse(text).value().evaluate_integer(environment);
      expected += value ? fmt::format("{}\n", *value) : "none\n";
    }
  }
  const TemporaryFolder folder;
  write_in(folder, "p.cpp", program + "}\n");
  const Ended ended = shell(folder.path(), "c++ -std=c++17 -Wall -Wextra -Werror p.cpp -o p && ./p");
  CHECK(ended.output == expected);
}

TEST_CASE("a string that only the program could know, and an unknown name, are no C++") {
  const auto code = [](const char* text) {
    return codegen::cpp_expression(Expression::parse(text).value(), {{"s", std::string("x")}}, {{"a", "a"}});
  };
  CHECK_FALSE(code("a == s").ok());
  CHECK_THAT(code("missing + 1").error().message, Catch::Contains("unknown name 'missing'"));
  CHECK(code("s == 'x'")->always());
  CHECK(code("s == 'y'")->never());
  CHECK_FALSE(code("a")->known);
}

}  // namespace
