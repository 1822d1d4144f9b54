// SPDX-License-Identifier: Apache-2.0
// Explaining, comparing and porting kernels as a user meets them, on the CPU device.
#include <catch2/catch.hpp>

#include "app/explain/measured_evidence.h"
#include "codegen/emit/markdown.h"
#include "codegen/source/optimisations.h"
#include "core/text/file.h"
#include "core/text/json.h"
#include "core/text/line_diff.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

/// A sum of vectors by pairs of elements or one by one, through shared memory where its switch is on.
const char* const kSum = R"cu(/* alphakernel
{"tunables": {"BLOCK": {"values": [64, 128], "default": 128}, "ITEMS": {"values": [1, 4], "default": 4}},
 "constraints": ["ARCH >= 80"],
 "launches": [{"kernel": "sum", "grid": ["ceil_div(N, BLOCK * ITEMS)"], "block": ["BLOCK"],
               "args": ["a", "b", "c", {"i64": "N"}]}]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>
// Nothing is said by a comment: __shfl_sync, mma.sync.
#define AK_STAGED 1
extern "C" __global__ void sum(const scalar_t* a, const scalar_t* b, scalar_t* c, long long n) {
  __shared__ float staged[BLOCK];
  for (int item = 0; item < ITEMS; ++item) {
    const long long i = (blockIdx.x * static_cast<long long>(ITEMS) + item) * BLOCK + threadIdx.x;
    if (i >= n) continue;
#if AK_STAGED
    staged[threadIdx.x] = static_cast<float>(a[i]);
    c[i] = static_cast<scalar_t>(staged[threadIdx.x] + static_cast<float>(b[i]));
#else
    c[i] = static_cast<scalar_t>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
#endif
  }
}
)cu";

std::vector<std::string> here(std::vector<std::string> arguments,
                              const std::vector<std::string>& extra = {}) {
  for (const char* word : {"--algorithm", "vector_add", "--shape", "N=3000", "--unaudited"})
    arguments.emplace_back(word);
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return arguments;
}

const std::vector<std::string> kEmulator{"--device", "emulator", "--arch", "sm_80"};

Json json_of(Sandbox& box, const std::vector<std::string>& arguments) {
  const ProgramResult result = box.run(arguments);
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  return parse_json(result.out);
}

std::string evidence_of(const Json& explained, const std::string& optimisation) {
  for (const Json& one : explained["record"]["optimisations"])
    if (one["name"] == optimisation) return one["evidence"].dump();
  return "absent";
}

/// All four points of kSum, measured by a search.
std::string tuned(Sandbox& box) {
  const std::string file = box.write("sum.cu", kSum);
  const ProgramResult result =
      box.run(here({"tune", file, "--strategy", "exhaustive", "--seed", "1", "-q"}, kEmulator));
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  return file;
}

}  // namespace

TEST_CASE(
    "a kernel is explained with what other points of its source took, and nothing is claimed without it") {
  Sandbox box;
  const std::string file = box.write("sum.cu", kSum);
  const Json alone = json_of(box, here({"explain", file, "--json"}, kEmulator));
  CHECK(alone["record"]["tunable_evidence"].empty());
  CHECK(evidence_of(alone, "several elements a thread").find("ITEMS") == std::string::npos);
  CHECK(evidence_of(alone, "warp shuffles") == "absent");
  CHECK(evidence_of(alone, "shared memory").find("shared/") != std::string::npos);
  REQUIRE(alone["limits"].size() == 1);
  CHECK(alone["limits"][0]["basis"] == "counts");
  CHECK_FALSE(alone["limits"][0].contains("floor_us"));

  tuned(box);
  const Json after = json_of(box, here({"explain", file, "--json"}));
  CHECK(evidence_of(after, "several elements a thread").find("ITEMS=4 instead of 1: ") != std::string::npos);
  CHECK(after["record"]["tunable_evidence"]["BLOCK"].dump().find("BLOCK=128 instead of 64") !=
        std::string::npos);
  const std::string page = read_file(box.folder / "sum.tuned.explanation.md");
  for (const char* heading :
       {"## Optimisations and their evidence", "## Why it is near its limit", "## Iteration log",
        "2 pairs of points differing in nothing else", "Gates passed: "})
    CHECK(page.find(heading) != std::string::npos);
  const ProgramResult written =
      box.run(here({"explain", (box.folder / "sum.tuned.cu").string(), "--markdown"}));
  CHECK(written.err.empty());
  CHECK(written.out.find("2 pairs of points differing in nothing else") != std::string::npos);
}

TEST_CASE("an ablation tries tunables at their least values and switches off, and is kept") {
  Sandbox box;
  const std::string file = box.write("sum.cu", kSum);
  const Json json = json_of(box, here({"explain", file, "--ablate", "--json"}, kEmulator));
  CHECK(json["record"]["tunable_evidence"]["ITEMS"].dump().find("ITEMS=4 instead of 1") != std::string::npos);
  CHECK(evidence_of(json, "AK_STAGED = 0").find("on instead of off: ") != std::string::npos);
  CHECK(box.query("SELECT count(*) FROM proposals WHERE arm = 'ablation'") == "4\r\n");
  const ProgramResult page = box.run(here({"explain", "1"}));
  CHECK(page.out.find("AK_STAGED = 0") != std::string::npos);
  CHECK(page.out.find("##") == std::string::npos);
  // The shape is a given one also where it is known from the database alone.
  REQUIRE(box.run({"explain", "1", "--ablate", "--unaudited"}).exit_code == 0);
  CHECK(box.query("SELECT DISTINCT shapes FROM search_shapes") == "N=3000\r\n");
}

TEST_CASE("variants are named by their number or by digits of their key, and unknown ones are refused") {
  Sandbox box;
  REQUIRE(box.run(here({"evaluate", box.write("sum.cu", kSum)}, kEmulator)).exit_code == 0);
  const std::string key = box.query("SELECT 'abc' || variant_hash FROM variants").substr(3, 12);
  CHECK(json_of(box, here({"explain", key, "--json"}))["variant"] == 1);
  const ProgramResult none = box.run(here({"explain", "77"}));
  CHECK(none.exit_code == code(ExitCode::usage));
  CHECK(none.err.find("there is no variant 77") != std::string::npos);
  const ProgramResult unknown = box.run(here({"explain", "000000000000"}));
  CHECK(unknown.exit_code == code(ExitCode::usage));
}

TEST_CASE("a comparison says by what it knows the ratio, and which work the slower one has more of") {
  Sandbox box;
  std::string apart = kSum;
  const std::string near = "(blockIdx.x * static_cast<long long>(ITEMS) + item) * BLOCK + threadIdx.x";
  apart.replace(apart.find(near), near.size(),
                "(blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x) * ITEMS + item");
  const std::string first = box.write("near.cu", kSum), second = box.write("apart.cu", apart);
  const Json json = json_of(box, here({"compare", first, second, "--json"}, kEmulator));
  CHECK(json["basis"] == "estimated costs");
  CHECK(json["second_over_first"].get<double>() > 1);
  CHECK(json["why"].get<std::string>().find("the second, has 4.00 times as much of global/sectors") !=
        std::string::npos);
  CHECK(json["record"]["source"].get<std::string>().find("\n-    const long long i") != std::string::npos);
  const ProgramResult stored = box.run(here({"compare", "1", "2"}));
  CHECK(stored.exit_code == 0);
  CHECK(stored.out.find("The second takes ") != std::string::npos);
  const Json same = json_of(box, here({"compare", "1", "1", "--json"}));
  CHECK(same["record"]["source"] == "");
  CHECK(same["why"].get<std::string>().find("They are the same kernel") != std::string::npos);
}

TEST_CASE("a port begins with the kernel under other params, and knows where it came from") {
  Sandbox box;
  tuned(box);
  const std::string best = box.query("SELECT 'v' || best_variant_id FROM searches").substr(1);
  const std::string variant = best.substr(0, best.find('\r'));
  const ProgramResult result =
      box.run({"generate", "--from", variant, "--dtype", "bfloat16", "--shape", "N=3000", "--unaudited",
               "--device", "emulator", "--arch", "sm_80", "--max-evaluations", "4", "--seed", "1", "--json",
               "--output", (box.folder / "k.cu").string()});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  const Json json = parse_json(result.out);
  CHECK(json["definition"] == "vector_add_bf16");
  CHECK(json["ported"]["variant"] == std::stoi(variant));
  CHECK(json["ported"]["account"].get<std::string>().find("as fast as there") != std::string::npos);
  CHECK(
      box.query(
          "SELECT p.iteration, p.arm, r.parent_id FROM proposals p JOIN variant_parents r ON r.variant_id = "
          "p.variant_id WHERE p.search_id = 2 AND p.iteration = 0") == "0,port," + variant + "\r\n");
  CHECK(read_file(box.folder / "k.explanation.md").find("Ported from variant " + variant) !=
        std::string::npos);
}

TEST_CASE("a kernel that cannot be built for the target is left for its best relative that can") {
  Sandbox box;
  tuned(box);
  std::string newer = kSum;
  newer.replace(
      newer.find("#define AK_STAGED 1"), 19,
      "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900\n#error needs sm_90\n#endif\n#define AK_STAGED 1");
  const ProgramResult result =
      box.run(here({"generate", "--from", box.write("newer.cu", newer), "--max-evaluations", "2", "--seed",
                    "1", "-q", "--output", (box.folder / "k.cu").string()},
                   kEmulator));
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.err.find("newer.cu cannot be ported to sm_80: compile_error") != std::string::npos);
  CHECK(result.out.find("ported from variant ") != std::string::npos);
  CHECK(box.query("SELECT v.name LIKE '%sum.cu' FROM proposals p JOIN variants v ON v.id = p.variant_id "
                  "WHERE p.arm = "
                  "'port' AND p.iteration = 0") == "1\r\n");
}

TEST_CASE("effects of a tunable come from points that differ in nothing else") {
  const std::vector<db::MeasuredPoint> points{{1, {{"A", 1}, {"B", 1}}, 400},
                                              {2, {{"A", 2}, {"B", 1}}, 200},
                                              {3, {{"A", 1}, {"B", 2}}, 100},
                                              {4, {{"A", 2}, {"B", 2}}, 100},
                                              {5, {{"A", 3}, {"B", 3}}, 1}};
  const auto effects = app::tunable_effects(points, {{"A", 2}, {"B", 1}});
  REQUIRE(effects.size() == 2);
  CHECK(effects[0].name == "A");
  CHECK(effects[0].pairs == 2);
  CHECK(effects[0].ratio == Approx(std::sqrt(2.0)));
  CHECK(effects[0].here == 2.0);
  CHECK(effects[0].variant == 1);
  CHECK(effects[1].ratio == Approx(std::sqrt(1.0 / 8)));
}

TEST_CASE("optimisations are recognised in code and plan, with their lines, and not in comments") {
  const auto candidate = parse_candidate("sum.cu", kSum);
  REQUIRE(candidate);
  std::vector<std::string> names;
  for (const codegen::Optimisation& one : codegen::optimisations_of(*candidate)) names.emplace_back(one.name);
  CHECK(names == std::vector<std::string>{"shared memory", "several elements a thread"});
  CHECK(codegen::optimisations_of(*candidate)[0].lines == std::vector<int>{12});
  CHECK(codegen::switches_of(*candidate) == std::vector<std::string>{"AK_STAGED"});
  CHECK(codegen::switched_off(kSum, "AK_STAGED").find("#define AK_STAGED 0") != std::string::npos);
}

TEST_CASE("a difference of texts shows changed lines with their neighbours") {
  CHECK(unified_diff("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nD\ne\nf\n", 20) ==
        "@@ -2 +2 @@\n b\n c\n-d\n+D\n e\n f\n");
  CHECK(unified_diff("a\n", "a\n", 20).empty());
  CHECK(unified_diff("", "a\nb\nc\n", 1) == "@@ -1 +1 @@\n+a\n... and 2 more changed lines\n");
}

TEST_CASE("a page for a terminal has aligned tables and no marks") {
  CHECK(codegen::without_markdown("## Head\n\n| a | long |\n|---|---|\n| `xyz` | 1 |\n\n**b** text\n") ==
        "Head\n\n  a    long\n  xyz  1\n\nb text\n");
}
