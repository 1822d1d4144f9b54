// SPDX-License-Identifier: Apache-2.0
// What becomes of <ak/...> includes: in what is compiled, in what is emitted, and in a candidate's keys.
#include "core/plan/device_headers.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "codegen/emit/emit.h"
#include "codegen/source/assemble.h"
#include "core/plan/include_scan.h"
#include "runtime/build/compile.h"
#include "tests/codegen/sample_problem.h"
#include "tests/codegen/shipped_templates.h"

using namespace ak;
using namespace ak::codegen::shipped;
using ak::testing::SampleProblem;

namespace {

const std::string kPlanLine =
    R"(/* alphakernel {"tunables": {"BLOCK": {"values": [64, 128]}}, "launches": [{"kernel": "k", "grid": [1], "block": ["BLOCK"], "args": ["x", "y"]}]} */)"
    "\n";
constexpr int kMostPromptTokens = 4800;  // docs/agent.md, "device_headers.md"

Candidate read(const std::string& source) { return parse_candidate("mine.cu", source).value(); }

std::string unit_of(const Candidate& candidate) {
  const SampleProblem sample;
  return codegen::assemble(*sample.instantiate(), candidate, kHopper).value().source;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

runtime::Compiler header_compiler() {
  const auto toolkit = runtime::find_cuda_toolkit();
  REQUIRE(toolkit);
  const auto nvrtc = runtime::load_nvrtc(toolkit->nvrtc_library);
  REQUIRE(nvrtc);
  return {*nvrtc, *toolkit};
}

BuildResult built(const std::string& source, const std::string& kernel) {
  const SampleProblem sample;
  TranslationUnit unit = codegen::assemble(*sample.instantiate(), read(source), kHopper).value();
  unit.kernels = {kernel};
  return header_compiler().compile(unit);
}

}  // namespace

TEST_CASE("a unit holds each device header that is used once, after those it includes, and no other") {
  const std::string text =
      unit_of(read(kPlanLine + "#include <ak/tma.cuh>\n#include \"ak/barriers.cuh\"\n#include "
                               "<ak/tma.cuh>\n__global__ void k() {}\n"));
  CHECK(count(text, "#line 1 \"ak/tma.cuh\"") == 1);
  CHECK(count(text, "#line 1 \"ak/barriers.cuh\"") == 1);
  CHECK(count(text, "#line 1 \"ak/threads.cuh\"") == 1);
  CHECK(text.find("ak/threads.cuh") < text.find("\"ak/tma.cuh"));
  CHECK(count(text, "ak/philox.cuh") == 0);
  CHECK(count(text, "#pragma once") == 0);
  for (const IncludeLine& include : scan_includes(text)) CHECK_FALSE(is_device_header(include.name));
}

TEST_CASE("constants come after the device headers, so that they cannot break them") {
  const std::string text = unit_of(read(kPlanLine + "#include <ak/vectors.cuh>\n__global__ void k() {}\n"));
  CHECK(text.find("namespace ak {") < text.find("constexpr int BLOCK = 64;"));
}

TEST_CASE("a mistake in a candidate is reported at its own line below the device headers") {
  const BuildResult result =
      built(kPlanLine + "#include <ak/wgmma.cuh>\n\n__global__ void k() {\n  wrong;\n}\n", "k");
  REQUIRE(result.outcome.status == Status::compile_error);
  INFO(result.log);
  REQUIRE_FALSE(result.outcome.diagnostics.empty());
  CHECK(result.outcome.diagnostics.front().line == 5);
  CHECK(result.log.find("mine.cu(5)") != std::string::npos);
}

TEST_CASE("a mistake between two includes is reported at its own line") {
  const BuildResult result = built(
      kPlanLine +
          "#include <ak/threads.cuh>\nint x = wrong;\n#include <ak/vectors.cuh>\n__global__ void k() {}\n",
      "k");
  CHECK(result.log.find("mine.cu(3)") != std::string::npos);
}

TEST_CASE("a mistake that shows inside a device header names the header and its line") {
  const BuildResult result = built(kPlanLine +
                                       "#include <ak/wgmma.cuh>\n__global__ void k() { float d[3]; "
                                       "ak::Wgmma<ak::bf16, 6>::multiply(d, 0, 0, 0); }\n",
                                   "k");
  REQUIRE(result.outcome.status == Status::compile_error);
  INFO(result.log);
  CHECK(result.log.find("ak/wgmma.cuh(") != std::string::npos);
  CHECK(result.log.find("wgmma takes 8 to 256 columns") != std::string::npos);
}

TEST_CASE("an emitted file has the headers inside and needs none") {
  const SampleProblem sample;
  const Candidate candidate =
      read(kPlanLine + "#include <ak/tma.cuh>\n#include <ak/reduce.cuh>\n__global__ void k() {}\n");
  const std::string text = codegen::emit_kernel(*sample.instantiate(), candidate);
  CHECK(count(text, "// ---- ak/tma.cuh\n") == 1);
  CHECK(count(text, "reduce_lanes") > 0);
  CHECK(count(text, "#line") == 0);
  CHECK(count(text, "ak/philox") == 0);
  for (const IncludeLine& include : scan_includes(text)) CHECK_FALSE(is_device_header(include.name));
  CHECK(read(text).headers.empty());
  CHECK(codegen::emit_kernel(*sample.instantiate(), read(text)) == text);
}

TEST_CASE("an emitted file to which an include is added again gets nothing twice") {
  const SampleProblem sample;
  const Candidate candidate = read(kPlanLine + "#include <ak/tma.cuh>\n__global__ void k() {}\n");
  std::string text = codegen::emit_kernel(*sample.instantiate(), candidate);
  text += "#include <ak/tma.cuh>\n#include <ak/reduce.cuh>\n";
  const std::string headers = read(text).headers;
  CHECK(count(headers, "// ---- ak/tma.cuh") == 0);
  CHECK(count(headers, "// ---- ak/reduce.cuh") == 1);
}

TEST_CASE(
    "the keys of a candidate cover its device headers, and are those of the text where there are none") {
  const Candidate candidate = read(kPlanLine + "#include <ak/vectors.cuh>\n");
  Candidate other = candidate;
  other.headers += " ";
  CHECK(other.source_hash() != candidate.source_hash());
  CHECK(other.variant_hash() != candidate.variant_hash());
  CHECK(read(kPlanLine).headers.empty());
}

TEST_CASE("a device header that there is not, or inside of #if, is refused with a sentence") {
  const SampleProblem sample;
  const auto found = [&](const std::string& code) {
    const auto diagnostics = codegen::pre_check(*sample.instantiate(), read(kPlanLine + code));
    return diagnostics.empty() ? std::string() : diagnostics.front().message;
  };
  CHECK(found("#include <ak/vectors.cuh>\n").empty());
  CHECK(found("#include <ak/vector.cuh>\n").find("ak/vectors.cuh") != std::string::npos);
  CHECK(found("#if 1\n#include <ak/vectors.cuh>\n#endif\n").find("outside") != std::string::npos);
}

TEST_CASE("the index has every header with its sentence and its declarations, on one page") {
  const std::string page = device_header_index();
  for (const EmbeddedFile& header : device_headers()) {
    INFO(header.name);
    const std::size_t at = page.find("<" + std::string(header.name) + ">: ");
    REQUIRE(at != std::string::npos);
    CHECK(page.find('\n', at) - at > header.name.size() + 20);
  }
  for (const char* declaration :
       {"u32 shared_address(const void* pointer)", "void cluster_sync()",
        "enum class Cache { plain, read_only, streaming, l2 }", "struct Ring",
        "template <class In> void mma(typename In::Sum (&d)[4], const u32 (&a)[4], u32 b0, u32 b1)"}) {
    INFO(declaration);
    CHECK(page.find(declaration) != std::string::npos);
  }
  CHECK(page.find("asm") == std::string::npos);
  CHECK(page.size() < 4 * kMostPromptTokens);
}

TEST_CASE("every device header has its SPDX line, one sentence, and fewer than 250 lines") {
  for (const EmbeddedFile& header : device_headers()) {
    INFO(header.name);
    CHECK(header.text.starts_with("// SPDX-License-Identifier: Apache-2.0\n// "));
    CHECK(header.text.find("#pragma once") != std::string_view::npos);
    CHECK(std::ranges::count(header.text, '\n') < 250);
  }
}

TEST_CASE("every device header builds alone, for the architectures that it is for") {
  runtime::Compiler compile = header_compiler();
  for (const EmbeddedFile& header : device_headers()) {
    const std::string source = "#include <" + std::string(header.name) + ">\n__global__ void k() {}\n";
    for (const Arch& arch : {Arch{8, 0, 0}, kHopper, Arch{12, 0, 'a'}}) {
      TranslationUnit unit = codegen::assemble_plain("alone.cu", source, arch);
      unit.kernels = {"k"};
      const BuildResult result = compile.compile(unit);
      INFO(header.name << " " << arch.sm() << "\n" << result.log);
      CHECK(result.outcome.status == Status::ok);
    }
  }
}
