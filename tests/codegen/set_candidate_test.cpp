// SPDX-License-Identifier: Apache-2.0
// Sets of kernels as one candidate: what its plan does for which shape, and that its file compiles.
#include "codegen/sets/set_candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <functional>
#include <random>
#include <set>

#include "codegen/emit/emit.h"
#include "codegen/export/export.h"
#include "codegen/problem/problem_catalog.h"
#include "codegen/sets/member_shapes.h"
#include "codegen/sets/time_terms.h"
#include "codegen/source/assemble.h"
#include "core/sets/set_choice.h"
#include "core/text/file.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/build/compile.h"
#include "tests/codegen/shipped_templates.h"
#include "tests/support/temporary_folder.h"

using namespace ak;
using namespace ak::codegen::shipped;

namespace {

Candidate point_of(const ProblemInstance& problem, const std::string& file,
                   const TunableValues& changed = {}) {
  const auto found = std::ranges::find(problem.templates, file, &CandidateFile::name);
  REQUIRE(found != problem.templates.end());
  Candidate candidate = parse_candidate(found->name, found->source).value();
  for (const auto& [name, value] : changed) candidate.tunables[name] = value;
  return candidate;
}

/// The first where the quantity is at most the limit, else the second: they are estimated to take a nanosecond for each.
SetRule split_at(const std::string& quantity, std::int64_t limit) {
  return {.rows = {},
          .estimates = {{.terms = {{1000, quantity}}}, {.terms = {{1000 * limit, "1"}}}},
          .fallback = 1};
}

codegen::KernelSet set_of(std::vector<Candidate> candidates, SetRule rule) {
  codegen::KernelSet set{.name = "set.cu", .members = {}, .rule = std::move(rule)};
  for (Candidate& candidate : candidates) set.members.push_back({std::move(candidate), true});
  return set;
}

ResolvedPlan resolved(const ProblemInstance& problem, const Candidate& candidate, const AxisValues& shape) {
  Environment environment = problem.environment(shape);
  for (const auto& [name, value] : candidate.tunables) environment[name] = value;
  environment.merge(device_environment(runtime::nominal_device(kHopper), kHopper));
  const Result<ResolvedPlan> plan = resolve(candidate.plan, environment);
  if (!plan) FAIL(plan.error().message);
  return *plan;
}

Candidate made(const ProblemInstance& problem, const codegen::KernelSet& set) {
  const Result<Candidate> candidate = codegen::set_candidate(problem, set);
  if (!candidate) FAIL(candidate.error().message);
  return *candidate;
}

void require_builds(const ProblemInstance& problem, const Candidate& candidate) {
  const Result<runtime::CudaToolkit> toolkit = runtime::find_cuda_toolkit();
  if (!toolkit) FAIL(toolkit.error().message);
  const Result<runtime::Nvrtc> nvrtc = runtime::load_nvrtc(toolkit->nvrtc_library);
  if (!nvrtc) FAIL(nvrtc.error().message);
  const Result<TranslationUnit> unit = codegen::assemble(problem, candidate, kHopper);
  if (!unit) FAIL(unit.error().message);
  const BuildResult built = runtime::Compiler{*nvrtc, *toolkit}.compile(*unit);
  INFO(built.outcome.message << "\n" << built.log);
  REQUIRE(built.outcome.status == Status::ok);
  CHECK(built.kernels.size() == unit->kernels.size());
  for (const Diagnostic& found : codegen::pre_check(problem, candidate)) FAIL(found.message);
}

/// A candidate of softmax with this plan and code.
Candidate written(const std::string& plan, const std::string& code) {
  const Result<Candidate> candidate =
      parse_candidate("own.cu", fmt::format("/* alphakernel {} */\n{}", plan, code));
  if (!candidate) FAIL(candidate.error().message);
  return *candidate;
}

}  // namespace

TEST_CASE("a member in rows alone takes the shapes of its rows, and is not compared on others") {
  const auto gemm = problem_of("gemm", "bfloat16");
  const TunableValues small{{"BM", 64}, {"CONSUMERS", 1}, {"BN", 128}, {"CLUSTER", 1}, {"STAGES", 8}};
  SetRule rule = split_at("M", 64);
  const AxisValues asked{{"M", 128}, {"N", 4096}, {"K", 512}};
  rule.rows = {{asked, 0}};
  rule.in_rows_alone = {0};
  const codegen::KernelSet set =
      set_of({point_of(*gemm, "gemm_wgmma.cu", small), point_of(*gemm, "gemm_wgmma.cu")}, std::move(rule));
  const Candidate candidate = made(*gemm, set);
  CHECK(candidate.plan.let[0].first == "ESTIMATE_2");
  CHECK(resolved(*gemm, candidate, asked).launches.at(0).kernel == "member_1::gemm_wgmma");
  const AxisValues beside{
      {"M", 8}, {"N", 4096}, {"K", 512}};  // where the estimate of the first would be the least
  CHECK(resolved(*gemm, candidate, beside).launches.at(0).kernel == "member_2::gemm_wgmma");
  CHECK(codegen::rule_lines(set)[1].starts_with("in its rows alone -> member 1: "));
  CHECK(codegen::shapes_of_member(set, 0).starts_with("(K == 512"));
}

TEST_CASE("two points of one template are one program, whose plan launches what the rule chooses") {
  const auto gemm = problem_of("gemm", "bfloat16");
  const TunableValues small{{"BM", 64}, {"CONSUMERS", 1}, {"BN", 128}, {"CLUSTER", 1}, {"STAGES", 8}};
  const codegen::KernelSet set =
      set_of({point_of(*gemm, "gemm_wgmma.cu", small), point_of(*gemm, "gemm_wgmma.cu")}, split_at("M", 64));
  const Candidate candidate = made(*gemm, set);
  CHECK(candidate.tunables.empty());
  REQUIRE(candidate.plan.let.size() > 3);
  CHECK(candidate.plan.let[0].second.text() == "1000 * (M)");
  CHECK(candidate.plan.let[2].second.text() == "min(ESTIMATE_1, ESTIMATE_2)");
  CHECK(candidate.plan.let[3].first == "MEMBER");
  CHECK(candidate.plan.let[3].second.text() == "1 if ESTIMATE_1 == LEAST else 2");

  const ResolvedPlan few = resolved(*gemm, candidate, {{"M", 64}, {"N", 4096}, {"K", 512}}),
                     many = resolved(*gemm, candidate, {{"M", 65}, {"N", 4096}, {"K", 512}}),
                     odd = resolved(*gemm, candidate, {{"M", 65}, {"N", 4095}, {"K", 512}});
  REQUIRE(few.launches.size() == 1);
  CHECK(few.launches[0].kernel == "member_1::gemm_wgmma");
  CHECK(few.launches[0].block[0] == 256);
  CHECK(many.launches.at(0).kernel == "member_2::gemm_wgmma");
  CHECK(many.launches[0].block[0] == 384);
  CHECK(odd.launches.at(0).kernel == "member_2::pack_lines");
  // The same launches as the member's own plan has, and descriptors of it alone.
  const ResolvedPlan alone = resolved(*gemm, set.members[1].candidate, {{"M", 65}, {"N", 4096}, {"K", 512}});
  CHECK(many.launches[0].grid == alone.launches[0].grid);
  CHECK(many.launches[0].shared_bytes == alone.launches[0].shared_bytes);
  REQUIRE(many.tensor_maps.size() == 3);
  CHECK(many.tensor_maps[0].name == "member_2_map_a");
  CHECK(many.tensor_maps[0].box == alone.tensor_maps[0].box);
  CHECK(odd.tensor_maps.at(0).name == "member_2_map_a");
  CHECK(odd.tensor_maps.at(1).name == "member_2_map_packed_b");
  require_builds(*gemm, candidate);
}

TEST_CASE("members of several templates share a file, and workspace is that of the chosen one") {
  const auto gemm = problem_of("gemm", "float16");
  const Candidate split_k = point_of(*gemm, "gemm_mma.cu", {{"SPLIT_K", 4}});
  const codegen::KernelSet set =
      set_of({split_k, point_of(*gemm, "gemm_wgmma.cu")}, split_at("M * N", 100'000));
  const Candidate candidate = made(*gemm, set);
  const auto workspace = [&](const AxisValues& shape) {
    std::int64_t count = 0;
    for (const ResolvedWorkspace& space : resolved(*gemm, candidate, shape).workspace) count += space.count;
    return count;
  };
  CHECK(workspace({{"M", 64}, {"N", 256}, {"K", 4096}}) > 0);
  CHECK(workspace({{"M", 4096}, {"N", 4096}, {"K", 4096}}) == 0);
  require_builds(*gemm, candidate);
}

TEST_CASE("the finished file of a set is read back with its rule, and says it in words") {
  const auto softmax = problem_of("softmax", "float32");
  const codegen::KernelSet set = set_of({point_of(*softmax, "softmax_registers.cu"),
                                         point_of(*softmax, "softmax_online.cu", {{"BLOCK", 1024}})},
                                        split_at("N", 2048));
  const Candidate candidate = made(*softmax, set);
  const std::string text = codegen::emit_kernel(*softmax, candidate);
  CHECK_THAT(text, Catch::Contains("//   where least: 1 ns * N -> member 1: softmax_registers.cu"));
  CHECK_THAT(text, Catch::Contains("//   where least: 2.05 us -> member 2: softmax_online.cu BLOCK=1024"));
  const Result<Candidate> again = parse_candidate("k.cu", text);
  REQUIRE(again.ok());
  CHECK(codegen::chosen_member(*again, softmax->environment({{"M", 3}, {"N", 2048}})) == 0);
  CHECK(codegen::chosen_member(*again, softmax->environment({{"M", 3}, {"N", 2049}})) == 1);
  CHECK(resolved(*softmax, *again, {{"M", 3}, {"N", 5000}}).launches.at(0).kernel ==
        "member_2::softmax_online");
  require_builds(*softmax, *again);
}

TEST_CASE("a set is exported as any kernel is") {
  const auto gemm = problem_of("gemm", "bfloat16");
  const codegen::KernelSet set =
      set_of({point_of(*gemm, "gemm_mma.cu", {{"SPLIT_K", 4}}), point_of(*gemm, "gemm_wgmma.cu")},
             split_at("M", 64));
  const auto files = codegen::export_files(*gemm, made(*gemm, set), kHopper,
                                           {.version = "1.0", .measured = "Nowhere.\n", .origin = "Yours."});
  REQUIRE(files.ok());
  if (std::system("nvcc --version > /dev/null 2>&1") != 0) {
    WARN("skipped: there is no nvcc on PATH, so exported files are not compiled");
    return;
  }
  const ak::testing::TemporaryFolder folder;
  for (const codegen::ExportedFile& file : *files) {
    std::filesystem::create_directories((folder / file.path).parent_path());
    write_file_atomically(folder / file.path, file.text);
  }
  const std::string command = fmt::format(
      "cd '{}' && nvcc -std=c++20 -gencode arch=compute_90a,code=sm_90a -Werror all-warnings -O1 -c "
      "{}_launch.cu -o l.o "
      "> output.txt 2>&1",
      folder.path().string(), codegen::export_name(gemm->definition));
  const int status = std::system(command.c_str());
  INFO(read_file(folder / "output.txt"));
  CHECK(status == 0);
}

TEST_CASE("a set of one is its member, unchanged") {
  const auto softmax = problem_of("softmax", "float32");
  const Candidate member = point_of(*softmax, "softmax_online.cu", {{"BLOCK", 64}});
  const SetRule rule;
  const Candidate candidate = made(*softmax, set_of({member}, rule));
  CHECK(candidate.variant_hash() == member.variant_hash());
  CHECK(codegen::chosen_member(candidate, softmax->environment({{"M", 3}, {"N", 5}})) == 0);
  CHECK(codegen::rule_lines(set_of({member}, rule))
            .front()
            .starts_with("every shape -> member 1: softmax_online.cu"));
}

TEST_CASE("what a member says of sizes keeps it from shapes that it does not take: the fallback takes them") {
  const auto softmax = problem_of("softmax", "float32");
  const Candidate picky = written(
      R"({"constraints": ["N % 4 == 0"], "let": {"QUADS": "N / 4"}, "workspace": [{"name": "w", "dtype": "float32", "count": "QUADS"}],
          "launches": [{"kernel": "rows", "grid": ["M"], "block": [64], "args": ["x", "y", "w", {"i64": "QUADS"}]}]})",
      "__global__ void rows(const scalar_t* x, scalar_t* y, float* w, long long quads) {}\n");
  const Candidate candidate =
      made(*softmax, set_of({picky, point_of(*softmax, "softmax_online.cu")}, split_at("N", 1000)));
  CHECK(resolved(*softmax, candidate, {{"M", 2}, {"N", 8}}).launches.at(0).kernel == "member_1::rows");
  // N / 4 has no value for 9, and nobody asks for it.
  CHECK(resolved(*softmax, candidate, {{"M", 2}, {"N", 9}}).launches.at(0).kernel ==
        "member_2::softmax_online");
  CHECK(resolved(*softmax, candidate, {{"M", 2}, {"N", 1001}}).launches.at(0).kernel ==
        "member_2::softmax_online");
  require_builds(*softmax, candidate);
}

TEST_CASE("a member whose grid has no room for a shape's rows leaves it to the fallback") {
  const auto softmax = problem_of("softmax", "float32");
  const Candidate tall = written(
      R"({"launches": [{"kernel": "rows", "grid": ["N // 64 + 1", "M"], "block": [64], "args": ["x", "y"]}]})",
      "__global__ void rows(const scalar_t* x, scalar_t* y) {}\n");
  codegen::KernelSet set = set_of({tall, point_of(*softmax, "softmax_online.cu")}, split_at("M", 1'000'000));
  set.members.front().takes_every_shape = false;
  const Candidate candidate = made(*softmax, set);
  CHECK(resolved(*softmax, candidate, {{"M", 65535}, {"N", 8}}).launches.at(0).kernel == "member_1::rows");
  CHECK(resolved(*softmax, candidate, {{"M", 65536}, {"N", 8}}).launches.at(0).kernel ==
        "member_2::softmax_online");
}

TEST_CASE("a grid's room counts where its launch happens, whatever its expression") {
  const auto softmax = problem_of("softmax", "float32");
  const Candidate tall = written(
      R"({"launches": [{"kernel": "wide", "grid": ["1", "M"], "block": [64], "when": "N > 8", "args": ["x", "y"]},
                       {"kernel": "rows", "grid": ["1", "M if N > 4 else 1"], "block": [64], "when": "N <= 8", "args": ["x", "y"]}]})",
      "__global__ void wide(const scalar_t* x, scalar_t* y) {}\n__global__ void rows(const scalar_t* x, "
      "scalar_t* y) {}\n");
  codegen::KernelSet set = set_of({tall, point_of(*softmax, "softmax_online.cu")}, split_at("M", 1'000'000));
  set.members.front().takes_every_shape = false;
  const Candidate candidate = made(*softmax, set);
  const auto kernel = [&](std::int64_t columns) {
    return resolved(*softmax, candidate, {{"M", 70'000}, {"N", columns}}).launches.at(0).kernel;
  };
  CHECK(kernel(4) == "member_1::rows");
  CHECK(kernel(8) == "member_2::softmax_online");
  CHECK(kernel(9) == "member_2::softmax_online");
}

TEST_CASE("what every member refuses the set refuses, by the constraint of its fallback") {
  const auto softmax = problem_of("softmax", "float32");
  const auto picky = [](int divisor) {
    return written(fmt::format(R"({{"constraints": ["N % {} == 0"],
                  "launches": [{{"kernel": "rows", "grid": ["M"], "block": [64], "args": ["x", "y"]}}]}})",
                               divisor),
                   "__global__ void rows(const scalar_t* x, scalar_t* y) {}\n");
  };
  const Candidate candidate = made(*softmax, set_of({picky(8), picky(4)}, split_at("N", 1000)));
  const auto plan_for = [&](std::int64_t size) {
    Environment environment = softmax->environment({{"M", 2}, {"N", size}});
    environment.merge(device_environment(runtime::nominal_device(kHopper), kHopper));
    return resolve(candidate.plan, environment);
  };
  REQUIRE_FALSE(plan_for(1001).ok());
  CHECK_THAT(plan_for(1001).error().message, Catch::Contains("does not hold"));
  CHECK(plan_for(8).value().launches.at(0).kernel == "member_1::rows");
  CHECK(plan_for(12).value().launches.at(0).kernel == "member_2::rows");
  // Estimated to be slower, but the only one that takes it.
  const Candidate rescued =
      made(*softmax, set_of({point_of(*softmax, "softmax_online.cu"), picky(4)}, split_at("N", 1000)));
  CHECK(resolved(*softmax, rescued, {{"M", 2}, {"N", 1001}}).launches.at(0).kernel ==
        "member_1::softmax_online");
}

TEST_CASE("macros, kernels of C, constants and types of members stay apart") {
  const auto softmax = problem_of("softmax", "float32");
  const auto member = [](int lanes) {
    return written(
        fmt::format(R"({{"tunables": {{"LANES": {{"values": [{0}]}}}},
                        "launches": [{{"kernel": "scale", "grid": ["M"], "block": ["LANES"], "args": ["x", "y"]}},
                                     {{"kernel": "tile<Pair, LANES>", "grid": [1], "block": ["LANES"], "args": ["y"]}}]}})",
                    lanes),
        fmt::format(
            "#ifndef ALPHAKERNEL\nconstexpr int LANES = 1;\nusing scalar_t = float;\n#endif\n"
            "#define WIDTH {0}\n#if AK_LANES != {0}\n#error another member's macro\n#endif\n"
            "struct Pair {{ float at[WIDTH]; }};\n"
            "extern \"C\" __global__ void scale(const scalar_t* x, scalar_t* y) {{ y[0] = x[0] * LANES; }}\n"
            "template <class T, int COUNT> __global__ void tile(scalar_t* y) {{\n"
            "  static_assert(sizeof(T) == 4 * COUNT && WIDTH == COUNT);\n}}\n",
            lanes));
  };
  const Candidate candidate = made(*softmax, set_of({member(32), member(64)}, split_at("N", 1000)));
  CHECK(resolved(*softmax, candidate, {{"M", 2}, {"N", 8}}).launches.at(1).kernel ==
        "member_1::tile<member_1::Pair, (32)>");
  require_builds(*softmax, candidate);
}

TEST_CASE("members with different compiler options are no set") {
  const auto softmax = problem_of("softmax", "float32");
  Candidate fast = point_of(*softmax, "softmax_online.cu");
  fast.plan.options = {"fast_math"};
  const Result<Candidate> set = codegen::set_candidate(
      *softmax, set_of({fast, point_of(*softmax, "softmax_registers.cu")}, split_at("N", 9)));
  REQUIRE_FALSE(set.ok());
  CHECK_THAT(set.error().message, Catch::Contains("compiled with different options"));
}

TEST_CASE("members whose preparation does the same read one copy, and are told apart where it does not") {
  const auto linear = problem_of("linear", "float32");
  const Candidate one = point_of(*linear, "linear_transposed.cu", {{"ROWS", 1}}),
                  eight = point_of(*linear, "linear_transposed.cu", {{"ROWS", 8}, {"BLOCK", 256}});
  CHECK(codegen::prepared_layout(*linear, one) == codegen::prepared_layout(*linear, eight));
  const Candidate candidate = made(*linear, set_of({one, eight}, split_at("M", 8)));
  const ResolvedPlan plan = resolved(*linear, candidate, {{"M", 64}, {"N", 96}, {"K", 64}});
  REQUIRE(plan.prepare.size() == 1);
  CHECK(plan.prepare[0].kernel == "member_1::transpose_weight");
  CHECK(plan.workspace.size() == 1);
  CHECK(std::get<ResolvedPointer>(plan.launches.at(0).arguments.at(1)).name == "member_1_columns");
  require_builds(*linear, candidate);

  // The same code with a constant in the preparation, which is another layout for another value.
  std::string source = one.source;
  source.replace(source.find("columns[(first_k + i) * n"), 25, "columns[(first_k + i) * n + 0 * ROWS");
  Candidate other = parse_candidate("other.cu", source).value(), third = other;
  third.tunables["ROWS"] = 8;
  CHECK(codegen::prepared_layout(*linear, other) != codegen::prepared_layout(*linear, third));
  const ResolvedPlan two = resolved(*linear, made(*linear, set_of({other, third}, split_at("M", 8))),
                                    {{"M", 64}, {"N", 96}, {"K", 64}});
  CHECK(two.prepare.size() == 2);
  CHECK(two.workspace.size() == 2);
  CHECK(codegen::prepared_layout(*problem_of("softmax", "float32"),
                                 point_of(*problem_of("softmax", "float32"), "softmax_online.cu"))
            .empty());
}

TEST_CASE("numbers that a packing is given are part of the layout, whatever the plan calls them") {
  const auto linear = problem_of("linear", "float32");
  const auto layout = [&](int rows, const std::function<void(LaunchPlan&)>& change) {
    Candidate point = point_of(*linear, "linear_transposed.cu", {{"ROWS", rows}});
    change(point.plan);
    return codegen::prepared_layout(*linear, point);
  };
  const auto of = [](const std::string& text) { return Expression::parse(text).value(); };
  const std::function<void(LaunchPlan&)> changes[] = {
      [&](LaunchPlan& plan) {
        plan.prepare.front().arguments.emplace_back(ScalarArgument{.value = of("ROWS")});
      },
      [&](LaunchPlan& plan) {
        plan.let.emplace_back("LINES", of("ROWS * 2"));
        plan.prepare.front().arguments.emplace_back(ScalarArgument{.value = of("LINES")});
      },
      [&](LaunchPlan& plan) { plan.prepare.front().when = of("N % ROWS == 0"); },
      [&](LaunchPlan& plan) { plan.prepare.front().shared_bytes = of("ROWS * 1024"); },
      [&](LaunchPlan& plan) {
        plan.prepare.front().loop = LoopPlan{"i", of("0"), of("ROWS")};
      }};
  for (const auto& change : changes) {
    CHECK(layout(1, change) == layout(1, change));
    CHECK(layout(1, change) != layout(8, change));
  }
}

TEST_CASE("members whose packing is made for a type of the same code read one copy, else each its own") {
  const auto linear = problem_of("linear", "float32");
  const auto point = [&](int rows, const std::string& type) {
    Candidate candidate = point_of(*linear, "linear_transposed.cu", {{"ROWS", rows}});
    const std::size_t at = candidate.source.find("__global__", candidate.source.find("*/"));
    REQUIRE(candidate.source.find("transpose_weight(", at) != std::string::npos);
    candidate.source.insert(at, type + "\ntemplate <class T> ");
    candidate.plan.prepare.front().kernel = "transpose_weight<Tile>";
    return candidate;
  };
  const auto layout = [&](int rows, const std::string& type) {
    return codegen::prepared_layout(*linear, point(rows, type));
  };
  CHECK(layout(1, "struct Tile {};") == layout(8, "struct Tile {};"));
  CHECK(layout(1, "struct Tile { int at[ROWS]; };") != layout(8, "struct Tile { int at[ROWS]; };"));
  const ResolvedPlan plan = resolved(
      *linear,
      made(*linear, set_of({point(1, "struct Tile {};"), point(8, "struct Tile {};")}, split_at("M", 8))),
      {{"M", 64}, {"N", 96}, {"K", 64}});
  CHECK(plan.prepare.size() == 1);
  CHECK(plan.prepare.at(0).kernel == "member_1::transpose_weight<member_1::Tile>");
}

TEST_CASE("a shape with a row of its own gets that row's member, whatever is estimated") {
  const auto softmax = problem_of("softmax", "float32");
  SetRule rule = split_at("N", 2048);
  rule.rows = {{.shape = {{"M", 3}, {"N", 100}}, .member = 1}};
  const codegen::KernelSet set =
      set_of({point_of(*softmax, "softmax_registers.cu"), point_of(*softmax, "softmax_online.cu")}, rule);
  const Candidate candidate = made(*softmax, set);
  CHECK(codegen::chosen_member(candidate, softmax->environment({{"M", 3}, {"N", 100}})) == 1);
  CHECK(codegen::chosen_member(candidate, softmax->environment({{"M", 4}, {"N", 100}})) == 0);
  CHECK(codegen::rule_lines(set).front() == "M == 3 and N == 100 -> member 2");
}

TEST_CASE(
    "a set of a dozen points of gemm gives every shape the member of the least estimate, as its launches "
    "do") {
  const auto gemm = problem_of("gemm", "bfloat16");
  std::vector<Candidate> points;
  for (const int split : {1, 2, 4})
    points.push_back(point_of(*gemm, "gemm_skinny.cu", {{"SPLIT_K", split}, {"STAGES", 6}}));
  points.push_back(point_of(*gemm, "gemm_stream.cu"));
  for (const int stages : {2, 3, 4})
    points.push_back(point_of(*gemm, "gemm_wgmma.cu", {{"STAGES", stages}, {"GROUP", 8}}));
  points.push_back(point_of(*gemm, "gemm_mma.cu"));
  points.push_back(
      point_of(*gemm, "gemm_wgmma.cu", {{"BM", 64}, {"CONSUMERS", 1}, {"BN", 128}, {"STAGES", 8}}));
  points.push_back(point_of(*gemm, "gemm_wgmma.cu", {{"STREAM_K", 1}}));
  std::mt19937_64 random(1);
  SetRule rule;
  rule.fallback = 3;
  for (const Candidate& point : points) {
    rule.estimates.emplace_back();
    for (const Expression& term : codegen::time_terms(*gemm, point))
      rule.estimates.back().terms.push_back({static_cast<std::int64_t>(1 + random() % 300'000), term.text()});
  }
  const codegen::KernelSet set = set_of(points, rule);
  const Candidate candidate = made(*gemm, set);
  const Environment device = device_environment(runtime::nominal_device(kHopper), kHopper);
  std::set<std::size_t> chosen;
  for (int trial = 0; trial < 200; ++trial) {
    const auto size = [&] {
      return static_cast<std::int64_t>(std::exp2(static_cast<double>(random() % 1400) / 100));
    };
    const AxisValues shape{{"M", size()}, {"N", size()}, {"K", size()}};
    Environment environment = gemm->environment(shape);
    environment.merge(Environment(device));
    std::size_t least = 0;
    std::vector<std::int64_t> estimates;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto amounts = codegen::amounts_of(codegen::time_terms(*gemm, points[i]), points[i], environment);
      REQUIRE(amounts.has_value());
      std::int64_t sum = 0;
      for (std::size_t term = 0; term < amounts->size(); ++term)
        sum += rule.estimates[i].terms[term].ps * (*amounts)[term];
      estimates.push_back(sum);
      if (sum < estimates[least]) least = i;
    }
    REQUIRE(codegen::chosen_member(candidate, environment) == least);
    REQUIRE(resolved(*gemm, candidate, shape)
                .launches.front()
                .kernel.starts_with(fmt::format("member_{}::", least + 1)));
    chosen.insert(least);
  }
  CHECK(chosen.size() > 3);
}

TEST_CASE("a message about a set blames the member whose code it names first, or whose line it names") {
  const auto problem = problem_of("gemm", {{"dtype", "bfloat16"}});
  const Candidate set = made(
      *problem,
      set_of({point_of(*problem, "gemm_wgmma.cu"), point_of(*problem, "gemm_stream.cu")}, split_at("M", 64)));
  const auto blamed = [&](const std::string& message, std::size_t members = 2) {
    return codegen::member_named_in(set, message, members);
  };
  CHECK(blamed("compute-sanitizer's racecheck says: Error: Race reported between Write access at "
               "member_2::leave(float*)+0x43a0 "
               "in set.cu:453; and Read access at member_1::tile(int)+0x4770 in set.cu:546 [4 hazards]") ==
        1);
  CHECK(blamed("member_12::tile<4>: out of bounds", 12) == 11);
  CHECK(blamed("remember_1::tile and member_2::tile") == 1);
  CHECK(blamed("tile: out of bounds, as in member_2") == std::nullopt);
  CHECK(blamed("member_3::tile") == std::nullopt);
  const auto line_of = [&](const std::string& text) {
    return 1 + std::count(set.source.begin(), set.source.begin() + static_cast<long>(set.source.find(text)),
                          '\n');
  };
  const auto race_at = [&](long line) {
    return fmt::format("{}:{}:7: race: thread (32, 0, 0) of block (0, 0, 0) at byte 128 of shared 'tile'",
                       set.name, line);
  };
  CHECK(blamed(race_at(line_of("namespace member_1 {") + 40)) == 0);
  CHECK(blamed(race_at(line_of("namespace member_2 {") + 40)) == 1);
  CHECK(blamed(race_at(3)) == std::nullopt);
}

TEST_CASE("as many members as a set may have are one program") {
  const auto gemm = problem_of("gemm", "bfloat16");
  std::vector<Candidate> points;
  for (const std::int64_t rows : {8, 16, 32, 64})
    for (const std::int64_t columns : {64, 128})
      for (const std::int64_t stages : {3, 4, 6, 8})
        points.push_back(
            point_of(*gemm, "gemm_skinny.cu", {{"BM", rows}, {"BN", columns}, {"STAGES", stages}}));
  REQUIRE(points.size() == SetLimits().max_members);
  SetRule rule;
  for (const Candidate& point : points) {
    rule.estimates.emplace_back();
    for (const Expression& term : codegen::time_terms(*gemm, point))
      rule.estimates.back().terms.push_back({123'456'789, term.text()});
  }
  CHECK(made(*gemm, set_of(points, rule)).plan.let.size() > points.size());
}

TEST_CASE("a candidate without time terms of its own has those of its launches") {
  const auto softmax = problem_of("softmax", "float32");
  const Candidate online = point_of(*softmax, "softmax_online.cu");
  const std::vector<Expression> terms = codegen::time_terms(*softmax, online);
  REQUIRE(terms.size() >= 3);
  Environment environment = softmax->environment({{"M", 264}, {"N", 1024}});
  environment.merge(device_environment(runtime::nominal_device(kHopper), kHopper));
  const auto amounts = codegen::amounts_of(terms, online, environment);
  REQUIRE(amounts.has_value());
  CHECK(amounts->at(0) == 1);
  CHECK(amounts->at(1) == 2 * 264 * 1024 * 4 / 1024);
}

TEST_CASE("the shapes of a member are its own, also the last before another's, and the same every time") {
  const auto gemm = problem_of("gemm", "float32");
  const auto is_first = [](const AxisValues& shape) { return shape.at("M") <= 40; };
  const auto is_second = [&](const AxisValues& shape) { return !is_first(shape); };
  for (const bool first : {true, false}) {
    const codegen::IsItsShape is_its = first ? codegen::IsItsShape(is_first) : is_second;
    const auto shapes = codegen::member_shapes(*gemm, is_its, 1, DeviceKind::emulator, {}, 1);
    CHECK(shapes.size() >= 4 + 8);
    const auto again = codegen::member_shapes(*gemm, is_its, 1, DeviceKind::emulator, {}, 1);
    CHECK(std::ranges::equal(shapes, again, {}, &Workload::axes, &Workload::axes));
    std::int64_t least = 1'000'000, most = 0;
    for (const Workload& shape : shapes) {
      CHECK(is_its(shape.axes));
      least = std::min(least, shape.axes.at("M")), most = std::max(most, shape.axes.at("M"));
    }
    CHECK(least == (first ? 1 : 41));
    CHECK(most == (first ? 40 : 160));
  }
}

TEST_CASE("a member that takes nothing in the ranges of a problem is checked between its timed shapes") {
  const auto gemm = problem_of("gemm", "float32");
  const std::vector<AxisValues> timed{{{"M", 64}, {"N", 64}, {"K", 64}}, {{"M", 6000}, {"N", 64}, {"K", 64}}};
  int asked = 0;
  const auto is_nobodys = [&](const AxisValues&) { return ++asked == 0; };
  CHECK(codegen::member_shapes(*gemm, is_nobodys, 1, DeviceKind::cuda, {}, 1).empty());
  CHECK(asked < 20'000);  // of corners, edges and eight draws
  const auto is_its = [](const AxisValues& shape) { return shape.at("M") > 5000; };
  const auto shapes = codegen::member_shapes(*gemm, is_its, 1, DeviceKind::emulator, timed, 1);
  REQUIRE(shapes.size() == 1);
  CHECK(shapes.front().axes == timed[1]);
}

TEST_CASE("weights packed by the same code are one layout, whatever the tiles and the template") {
  const auto swiglu = problem_of("linear_swiglu", "bfloat16");
  const Candidate few = point_of(*swiglu, "swiglu_wgmma.cu", {{"BM", 16}, {"BK", 128}, {"SHARE", 2}}),
                  many = point_of(*swiglu, "swiglu_wgmma.cu", {{"CONSUMERS", 3}, {"BLOCKS", 1}}),
                  other = point_of(*swiglu, "swiglu_mma.cu");
  CHECK(codegen::prepared_layout(*swiglu, few) == codegen::prepared_layout(*swiglu, many));
  CHECK(codegen::prepared_layout(*swiglu, few) == codegen::prepared_layout(*swiglu, other));
  const Candidate set = made(*swiglu, set_of({other, many}, split_at("M", 16)));
  const ResolvedPlan plan = resolved(*swiglu, set, {{"M", 64}, {"N", 96}, {"K", 64}});
  CHECK(plan.prepare.size() == 1);
  require_builds(*swiglu, set);

  const auto linear = problem_of("linear", "bfloat16");
  CHECK(codegen::prepared_layout(*linear, point_of(*linear, "linear_wgmma.cu")) !=
        codegen::prepared_layout(*linear, point_of(*linear, "linear_transposed.cu")));
}
