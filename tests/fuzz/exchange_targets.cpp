// SPDX-License-Identifier: Apache-2.0
#include "app/exchange/exchange_folder.h"
#include "core/error.h"
#include "core/text/json_reader.h"
#include "core/tuning/decompress.h"
#include "core/tuning/measured_space.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/input_files.h"

namespace ak::fuzz {
namespace {

namespace fs = std::filesystem;

// Larger spaces take longer to walk than many inputs to read.
constexpr double kMaxPoints = 4096;

std::size_t files_in(const app::ExchangeSet& set) {
  std::size_t count = set.definitions.size() + set.solutions.size() + set.notes.size();
  for (const auto* files : {&set.workloads, &set.traces})
    for (const auto& [path, lines] : *files) count += lines.size();
  return count;
}

app::ExchangeSet read(const fs::path& folder, std::vector<app::FileFault>& faults) {
  return app::read_exchange(folder, faults);
}

}  // namespace

/// Every line is a file of each kind. What follows the rules is written and read again.
void read_data_set(std::string_view input) {
  const fs::path folder = empty_folder("data_set");
  for (const char* kind : {"definitions", "solutions", "workloads", "traces"})
    fs::create_directories(folder / kind);
  int number = 0;
  for (const std::string_view line : lines_of(input)) {
    ++number;
    for (const char* name :
         {"definitions/{}.json", "solutions/{}.json", "workloads/{}.jsonl", "traces/{}.jsonl"})
      (void)input_file("data_set/" + fmt::format(fmt::runtime(name), number), line);
    (void)input_file("data_set/alphakernel.json", line);
  }
  std::vector<app::FileFault> faults;
  app::ExchangeSet set = read(folder, faults);
  const fs::path again = empty_folder("data_set_again");
  app::write_exchange(again, set);
  faults.clear();
  AK_ASSERT(files_in(read(again, faults)) == files_in(set) && faults.empty(),
            "a data set that was written can be read");
  app::merge_exchange(set, read(again, faults));
  AK_ASSERT(files_in(set) >= files_in(read(again, faults)), "a data set holds what was merged into it");
}

/// T1, packed or not.
void read_space_definition(std::string_view input) {
  try {
    bool cut_short = false;
    const Json json = try_parse_json(decompress(std::string(input), "fuzz", cut_short));
    if (json.is_discarded() || !is_definition(json)) return;
    const Result<SpaceDefinition> definition = parse_definition(json);
    if (!definition) return;
    double points = 1;
    for (const TuningParameter& parameter : definition->parameters)
      points *= static_cast<double>(parameter.values.size());
    if (points > kMaxPoints) return;
    const auto space = TunableSpace::build(definition->parameters, definition->constraints);
    AK_ASSERT(!space || static_cast<double>(space->size()) <= points, "constraints add no points");
  } catch (const Error& error) {
    AK_ASSERT(error.code() == ExitCode::bad_input, "what is wrong in a packed file is bad input");
  }
}

}  // namespace ak::fuzz
