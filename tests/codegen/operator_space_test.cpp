// SPDX-License-Identifier: Apache-2.0
// What exports are called, and what they register in PyTorch: two in one process must not have a name in common.
#include <algorithm>
#include <catch2/catch.hpp>
#include <regex>
#include <set>

#include "codegen/export/export.h"
#include "codegen/problem/problem_catalog.h"
#include "tests/codegen/shipped_templates.h"

using namespace ak;
using namespace ak::codegen::shipped;

namespace {

std::vector<codegen::ExportedFile> exported(const std::string& name, const std::string& file,
                                            const Arch& arch, const TunableValues& changed = {},
                                            const std::string& called = "") {
  const codegen::Problem problem = codegen::load_problem(codegen::find_problem(name));
  const auto instance =
      codegen::instantiate(problem, codegen::choose_params(problem, {{"dtype", "bfloat16"}}));
  const auto found = std::ranges::find(instance->templates, file, &CandidateFile::name);
  REQUIRE(found != instance->templates.end());
  Candidate candidate = parse_candidate(found->name, found->source).value();
  for (const auto& [tunable, value] : changed) candidate.tunables[tunable] = value;
  const auto files = codegen::export_files(
      *instance, candidate, arch, {.version = "1.0", .measured = "Nowhere.\n", .origin = "Yours."}, called);
  REQUIRE(files.ok());
  return *files;
}

/// Every namespace of PyTorch that the files of an export mention.
std::set<std::string> spaces(const std::vector<codegen::ExportedFile>& files) {
  static const std::regex kSpace(R"((?:TORCH_LIBRARY_\w+\(|torch\.ops\.)(\w+))");
  std::set<std::string> found;
  for (const codegen::ExportedFile& file : files)
    for (std::sregex_iterator at(file.text.begin(), file.text.end(), kSpace), end; at != end; ++at)
      if ((*at)[1] != "load_library") found.insert((*at)[1]);
  return found;
}

TEST_CASE("an export has one namespace in PyTorch, in all of its files") {
  for (const auto& files : {exported("softmax", "softmax_online.cu", kHopper),
                            exported("linear", "linear_transposed.cu", kAmpere)}) {
    REQUIRE(spaces(files).size() == 1);
    CHECK_THAT(*spaces(files).begin(), Catch::StartsWith("alphakernel_"));
  }
}

TEST_CASE("two points, two targets and two templates of one definition have namespaces of their own") {
  std::set<std::string> all;
  for (const auto& files : {exported("softmax", "softmax_online.cu", kHopper),
                            exported("softmax", "softmax_online.cu", kHopper, {{"BLOCK", 512}}),
                            exported("softmax", "softmax_online.cu", kAmpere),
                            exported("softmax", "softmax_registers.cu", kHopper)})
    all.merge(spaces(files));
  CHECK(all.size() == 4);
}

TEST_CASE("the same kernel exported twice has the same names") {
  CHECK(spaces(exported("softmax", "softmax_online.cu", kHopper)) ==
        spaces(exported("softmax", "softmax_online.cu", kHopper)));
}

/// What an export's library, CMake file and package define under names, and the paths that others include or import.
std::set<std::string> names(const std::vector<codegen::ExportedFile>& files) {
  const std::regex defined[] = {
      std::regex(R"re(\b(\w+_(?:launch|refusal|workspace_bytes|prepare|prepared_bytes))\(const)re"),
      std::regex(R"re(struct (\w+_shape) \{)re"),
      std::regex(R"re(\nnamespace (\w+_kernel) \{)re"),
      std::regex(R"re((?:project|add_library|add_executable)\((\w+))re"),
      std::regex(R"re(m\.def\("(\w+))re"),
      std::regex(R"re(packages=\["(\w+)")re")};
  std::set<std::string> found;
  for (const codegen::ExportedFile& file : files) {
    if (file.path.ends_with(".h") || file.path.ends_with("/__init__.py")) found.insert(file.path);
    for (const std::regex& one : defined)
      for (std::sregex_iterator at(file.text.begin(), file.text.end(), one), end; at != end; ++at)
        found.insert((*at)[1]);
  }
  return found;
}

TEST_CASE("a name is that of functions, target, package and operators' namespace") {
  const auto files = exported("softmax", "softmax_online.cu", kHopper, {}, "quick");
  CHECK(spaces(files) == std::set<std::string>{"quick"});
  const std::set<std::string> all = names(files);
  for (const char* expected : {"quick", "quick.h", "torch/quick/__init__.py", "quick_launch", "quick_out"}) {
    INFO(expected);
    CHECK(all.contains(expected));
  }
  for (const codegen::ExportedFile& file : files) {
    INFO(file.path);
    CHECK(file.path.find("softmax_bf16") == std::string::npos);
    CHECK((file.path.ends_with("README.md") || file.path == "quick.cu" ||  // say what it computes
           file.text.find("softmax_bf16_") == std::string::npos));
  }
}

TEST_CASE("exports of one definition have no name in common where both are given one") {
  const auto first = names(exported("linear", "linear_transposed.cu", kAmpere, {}, "one"));
  const auto second = names(exported("linear", "linear_transposed.cu", kAmpere, {}, "two"));
  CHECK(first.size() > 10);
  std::vector<std::string> both;
  std::ranges::set_intersection(first, second, std::back_inserter(both));
  CHECK_THAT(both, Catch::Equals(std::vector<std::string>{}));
}

TEST_CASE("without a name an export has that of its definition, which no other definition has") {
  const auto name_of = [](const std::string& definition) {
    Definition named;
    named.name = definition;
    return codegen::export_name(named);
  };
  CHECK(name_of("softmax_bf16") == "softmax_bf16");
  std::set<std::string> all;
  const char* const kAlike[] = {"a_b",          "a.b",  "a-b",   "a b",   "a__b", "1_a_b",
                                "kernel_1_a_b", "_a_b", "class", "torch", "",     "\xc3\xa4"};
  for (const char* each : kAlike) {
    all.insert(name_of(each));
    INFO(each << " " << name_of(each));
    CHECK(codegen::name_objection(name_of(each)) == "");
  }
  CHECK(all.size() == std::size(kAlike));
  CHECK(name_of(std::string(300, 'a')) != name_of(std::string(301, 'a')));
  CHECK(codegen::name_objection(name_of(std::string(300, 'a'))) == "");
}

TEST_CASE("the version of a package is one that pip takes as it is") {
  for (const char* right : {"1.0", "0", "2024.11.3", "1.2rc1", "2.0a0", "2.0.post1", "2.0.dev3"})
    CHECK(codegen::version_objection(right) == "");
  for (const char* wrong : {"", "v1", "1.0; rm", "1.0\"\nx = \"1", "1..0", "01.0", "1.0\n", "1.0-1"})
    CHECK_THAT(codegen::version_objection(wrong), Catch::Contains("expected a version such as 1.0"));
}

TEST_CASE("a name that is no identifier, or that something else has, is refused with the reason") {
  for (const char* wrong : {"", "2d", "a-b", "a b", "_a", "a.b", "a/../b", "n\xc3\xa4h"})
    CHECK_THAT(codegen::name_objection(wrong), Catch::Contains("expected a letter"));
  for (const char* wrong : {"a__b", "a_"})
    CHECK_THAT(codegen::name_objection(wrong), Catch::Contains("'__'"));
  CHECK_THAT(codegen::name_objection(std::string(200, 'a')), Catch::Contains("at most"));
  for (const char* taken : {"class", "torch", "aten", "test", "check", "copy", "select", "numpy"})
    CHECK_THAT(codegen::name_objection(taken), Catch::Contains("something else of this name"));
  CHECK(codegen::name_objection("my_softmax2") == "");
}

}  // namespace
