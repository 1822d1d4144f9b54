// SPDX-License-Identifier: Apache-2.0
// Every kernel in planted/CLASS/ is wrong in the way, and at a line, that its `// FAULT kind` comments name.
// Its second line says how it is launched. A kernel that asks for FIXED (`#ifdef FIXED`) has a corrected
// twin, built with -DFIXED, in which nothing is found, apart from notes where it says `// NOTE kind`.
#include <algorithm>
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
  std::set<std::pair<int, std::string>> notes;                 ///< of the corrected twin
};

/// Adds (line, kind) if `text` ends in a comment that begins with `mark`.
void collect(const std::string& text, int line, const std::string& mark,
             std::set<std::pair<int, std::string>>& into) {
  std::istringstream kinds(text.find(mark) == std::string::npos ? ""
                                                                : text.substr(text.find(mark) + mark.size()));
  for (std::string kind; kinds >> kind && kind != "//";) into.emplace(line, kind);
}

/// "races/missing_barrier".
std::string name_of(const std::filesystem::path& file) {
  return file.parent_path().filename().string() + "/" + file.stem().string();
}

std::vector<std::filesystem::path> planted_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(AK_PLANTED_BUGS)) {
    if (entry.path().extension() == ".cu") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

PlantedBug read_bug(const std::filesystem::path& file) {
  PlantedBug bug{.name = name_of(file),
                 .source = read_file(file),
                 .plan = {},
                 .faults = {},
                 .consequences = {},
                 .notes = {}};
  std::istringstream lines(bug.source);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (number == 2) bug.plan = parse_json(line.substr(3));
    collect(line, number, "// FAULT ", bug.faults);
    collect(line, number, "// ALSO ", bug.consequences);
    collect(line, number, "// NOTE ", bug.notes);
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

/// What a bug is built for.
Arch target_of(const PlantedBug& bug) { return parse_sm(bug.plan.value("arch", "sm_90a")).value(); }

LaunchReport run(CudaProgram& program, const Json& plan, std::uint64_t seed) {
  for (const Json& argument : plan["args"]) bind(program, argument);
  LaunchRequest request;
  request.grid = extent(plan["grid"]);
  request.block = extent(plan["block"]);
  request.cluster = extent(plan.value("cluster", Json::array()));
  request.dynamic_shared_bytes = plan.value("shared_bytes", 0u);
  request.options.instruction_budget = plan.value("budget", 10'000'000ull);
  request.options.seed = seed;
  return program.launch(request);
}

}  // namespace

TEST_CASE("every planted bug is caught at its line, whatever the order of warps and blocks") {
  const std::vector<std::filesystem::path> files = planted_files();
  CHECK(files.size() >= 40);
  for (const auto& file : files) {
    const PlantedBug bug = read_bug(file);
    CudaProgram program(bug.source, "k", target_of(bug));
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

TEST_CASE("nothing is found in the corrected twin of a planted bug, whatever the order of warps and blocks") {
  for (const auto& file : planted_files()) {
    const PlantedBug bug = read_bug(file);
    if (bug.source.find("FIXED") == std::string::npos) continue;
    CudaProgram program(bug.source, "k", target_of(bug), {"-DFIXED"});
    for (const std::uint64_t seed : {0ull, 1ull, 2ull}) {
      const LaunchReport report = run(program, bug.plan, seed);
      CAPTURE(bug.name, seed);
      for (const Finding& finding : report.findings.all())
        FAIL_CHECK(describe(program.program(), finding, "kernel.cu"));
      CHECK(report.findings.notes().size() == bug.notes.size());
      for (const Finding& note : report.findings.notes()) {
        INFO(describe(program.program(), note, "kernel.cu"));
        CHECK(marked(bug.notes, program.program(), note));
      }
    }
  }
}

}  // namespace ak::emulator::test
