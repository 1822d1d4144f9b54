// SPDX-License-Identifier: Apache-2.0
// Files that users write or take from others. Each input is tried with every reader, whose keys differ.
#include <array>

#include "agent/llm/api/model_catalog.h"
#include "agent/llm/api/recording.h"
#include "app/experiment/manifest.h"
#include "app/search/best_points.h"
#include "app/session/session_manifest.h"
#include "app/setup/config.h"
#include "core/error.h"
#include "core/text/locations.h"
#include "profiler/prediction/model_file.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/input_files.h"

namespace ak::fuzz {
namespace {

namespace fs = std::filesystem;

void read_best(const fs::path& file) {
  const app::BestPoints read = app::read_best_points(file);
  const fs::path again = input_file("again.json", app::to_json(read).dump());
  AK_ASSERT(app::read_best_points(again).points.size() == read.points.size(),
            "a file of best points that was written has all points");
}

void read_times(const fs::path& file) {
  profiler::write_models(file.parent_path() / "again.json", profiler::read_models(file));
  static_cast<void>(profiler::read_models(file.parent_path() / "again.json"));
}

void read_config(const fs::path& file) {
  set_locations({.program = {}, .config = file});
  static_cast<void>(app::load_config());
}

void read_devices(const fs::path& file) { static_cast<void>(DeviceCatalog::with_folder(file.parent_path())); }

}  // namespace

void read_manifests(std::string_view input) {
  static constexpr std::array kReaders{
      FileReader{"night.json", [](const fs::path& file) { (void)app::read_session_manifest(file, "."); }},
      FileReader{"sums.json", [](const fs::path& file) { (void)app::read_manifest(file); }},
  };
  read_with(kReaders, input);
}

void read_settings(std::string_view input) {
  const std::string device = empty_folder("devices").filename().string() + "/device.json";
  const std::array readers{
      FileReader{"config.json", read_config},
      FileReader{"models.json", [](const fs::path& file) { (void)agent::ModelCatalog::with_file(file); }},
      FileReader{device, read_devices},
  };
  read_with(readers, input);
}

void read_records(std::string_view input) {
  static constexpr std::array kReaders{
      FileReader{"best.json", read_best},
      FileReader{"times.json", read_times},
      FileReader{"answers.jsonl", [](const fs::path& file) { agent::ReplayClient{file}; }},
  };
  read_with(kReaders, input);
}

}  // namespace ak::fuzz
