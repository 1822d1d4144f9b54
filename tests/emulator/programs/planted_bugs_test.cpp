// SPDX-License-Identifier: Apache-2.0
// Every kernel in planted/ is wrong in the way, and at a line, that its `// FAULT kind` comments name. Its
// second line says how it is launched.
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/text/file.h"
#include "tests/emulator/programs/cuda_program.h"

namespace ak::emulator::test {
namespace {

struct PlantedBug {
  std::string name, source;
  Json plan;
  std::set<std::pair<int, std::string>> faults, consequences;  ///< line, kind
};

/// Adds (line, kind) if `text` ends in a comment that begins with `mark`.
void collect(const std::string& text, int line, const std::string& mark,
             std::set<std::pair<int, std::string>>& into) {
  std::istringstream kinds(text.find(mark) == std::string::npos ? ""
                                                                : text.substr(text.find(mark) + mark.size()));
  for (std::string kind; kinds >> kind && kind != "//";) into.emplace(line, kind);
}

PlantedBug read_bug(const std::filesystem::path& file) {
  PlantedBug bug{
      .name = file.stem().string(), .source = read_file(file), .plan = {}, .faults = {}, .consequences = {}};
  std::istringstream lines(bug.source);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (number == 2) bug.plan = parse_json(line.substr(3));
    collect(line, number, "// FAULT ", bug.faults);
    collect(line, number, "// ALSO ", bug.consequences);
  }
  REQUIRE_FALSE(bug.faults.empty());
  return bug;
}

/// Of a race both ends are right places to point at.
bool marked(const std::set<std::pair<int, std::string>>& marks, const Program& program,
            const Finding& finding) {
  const std::string kind(to_string(finding.kind));
  const auto at = [&](Index op) { return marks.count({place_of(program, op, "kernel.cu").line, kind}) != 0; };
  return at(finding.first.op) || (finding.other && at(finding.other->op));
}

std::array<std::uint32_t, 3> extent(const Json& json) {
  std::array<std::uint32_t, 3> values{1, 1, 1};
  for (std::size_t i = 0; i < json.size(); ++i) values[i] = json[i];
  return values;
}

// Positive floats; as integers they are positive too.
std::vector<float> input(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 1.0f + static_cast<float>(i % 7) * 0.25f;
  return values;
}

void bind(CudaProgram& program, const Json& argument) {
  if (argument.contains("i32")) {
    program.argument(argument["i32"].get<std::int32_t>());
  } else if (argument.contains("in")) {
    program.argument(program.upload(input(argument["in"]), "input", argument.value("read_only", false)));
  } else if (argument.contains("zero")) {
    program.argument(program.upload(std::vector<float>(argument["zero"].get<std::size_t>()), "zeroed"));
  } else {
    program.argument(program.memory(argument.at("out").get<std::uint64_t>() * 4, "output"));
  }
}

LaunchReport run(CudaProgram& program, const Json& plan, std::uint64_t seed) {
  for (const Json& argument : plan["args"]) bind(program, argument);
  LaunchRequest request;
  request.grid = extent(plan["grid"]);
  request.block = extent(plan["block"]);
  request.dynamic_shared_bytes = plan.value("shared_bytes", 0u);
  request.options.instruction_budget = plan.value("budget", 10'000'000ull);
  request.options.seed = seed;
  return program.launch(request);
}

}  // namespace

TEST_CASE("every planted bug is caught at its line, whatever the order of warps and blocks") {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(AK_PLANTED_BUGS))
    files.push_back(entry.path());
  CHECK(files.size() >= 40);
  for (const auto& file : files) {
    const PlantedBug bug = read_bug(file);
    CudaProgram program(bug.source, "k");
    for (const std::uint64_t seed : {0ull, 1ull, 2ull}) {
      const LaunchReport report = run(program, bug.plan, seed);
      CAPTURE(bug.name, seed);
      bool caught = false;
      for (const Finding& finding : report.findings.all()) {
        INFO(describe(program.program(), finding, "kernel.cu"));
        caught |= marked(bug.faults, program.program(), finding);
        CHECK((marked(bug.faults, program.program(), finding) ||
               marked(bug.consequences, program.program(), finding)));
      }
      CHECK(caught);
    }
  }
}

}  // namespace ak::emulator::test
