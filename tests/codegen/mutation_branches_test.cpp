// SPDX-License-Identifier: Apache-2.0
// References as a person or a model reads them: without the mistakes that the audit plants.
#include "codegen/source/mutation_branches.h"

#include <catch2/catch.hpp>

#include "codegen/problem/problem_catalog.h"
#include "tests/codegen/shipped_templates.h"

using namespace ak;
using codegen::without_mutations;

TEST_CASE("branches that only a planted mistake takes are left out of a reference") {
  CHECK(without_mutations("a\n#ifdef AK_MUTATION_X\nb\n#else\nc\n#endif\nd\n") == "a\nc\nd\n");
  CHECK(without_mutations("#ifndef AK_MUTATION_X  // why\na\n#else\nb\n#endif\n") == "a\n");
  CHECK(without_mutations("#if defined(AK_MUTATION_X) || defined AK_MUTATION_Y\na\n#endif\nb") == "b");
  CHECK(without_mutations("#ifdef AK_MUTATION_X\n#if A\nb\n#else\nc\n#endif\n#endif\nd\n") == "d\n");
}

TEST_CASE("conditions of other macros stay, and begin the group where a mistake began it") {
  CHECK(without_mutations("#if defined(AK_MUTATION_X)\na\n#elif defined(AK_GELU)\nb\n#elif "
                          "defined(AK_MUTATION_Y)\nc\n#else\nd\n#endif\n") ==
        "#if defined(AK_GELU)\nb\n#else\nd\n#endif\n");
  const std::string mixed = "#if defined(AK_HALVES) != defined(AK_MUTATION_X)\na\n#else\nb\n#endif\n";
  CHECK(without_mutations(mixed) == mixed);
  const std::string negated = "#if !defined(AK_MUTATION_X)\na\n#endif\n";
  CHECK(without_mutations(negated) == negated);
  const std::string plain = "#if 1\na\n#endif\n";
  CHECK(without_mutations(plain) == plain);
}

TEST_CASE("text whose conditions do not fit together stays as it is") {
  for (const char* text :
       {"#ifdef AK_MUTATION_X\na\n", "a // AK_MUTATION_X\n#endif\n", "#else\n// AK_MUTATION_X\n"}) {
    INFO(text);
    CHECK(without_mutations(text) == text);
  }
  CHECK(without_mutations("").empty());
}

TEST_CASE("every shipped reference reads without its mistakes, and keeps its kernels") {
  for (const codegen::CatalogEntry& entry : codegen::list_problems()) {
    const codegen::Problem problem = codegen::load_problem(entry.folder);
    const auto instance = codegen::instantiate(problem, codegen::choose_params(problem, {}));
    const std::string whole = instance->reference_cu, read = without_mutations(whole);
    INFO(entry.name << "\n" << read);
    CHECK(read.size() < whole.size());
    for (const char* piece : {"__global__", "alphakernel"}) CHECK(read.find(piece) != std::string::npos);
    const auto count = [](const std::string& text, const std::string& part) {
      std::size_t found = 0;
      for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
      return found;
    };
    CHECK(count(read, "#if") == count(read, "#endif"));
    CHECK(count(read, "AK_MUTATION_") * 4 <= count(whole, "AK_MUTATION_"));
  }
}
