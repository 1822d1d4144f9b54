// SPDX-License-Identifier: Apache-2.0
// What exports register in PyTorch: two in one process must not have a name in common.
#include <algorithm>
#include <catch2/catch.hpp>
#include <regex>
#include <set>

#include "codegen/export/export.h"
#include "codegen/problem/problem_catalog.h"

using namespace ak;

namespace {

constexpr Arch kAmpere{8, 0, 0}, kHopper{9, 0, 'a'};

std::vector<codegen::ExportedFile> exported(const std::string& name, const std::string& file,
                                            const Arch& arch, const TunableValues& changed = {}) {
  const codegen::Problem problem = codegen::load_problem(codegen::find_problem(name));
  const auto instance =
      codegen::instantiate(problem, codegen::choose_params(problem, {{"dtype", "bfloat16"}}));
  const auto found = std::ranges::find(instance->templates, file, &CandidateFile::name);
  REQUIRE(found != instance->templates.end());
  Candidate candidate = parse_candidate(found->name, found->source).value();
  for (const auto& [tunable, value] : changed) candidate.tunables[tunable] = value;
  const auto files = codegen::export_files(*instance, candidate, arch,
                                           {.version = "1.0", .measured = "Nowhere.\n", .origin = "Yours."});
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

}  // namespace
