// SPDX-License-Identifier: Apache-2.0
// Files of a version that this program does not know: refused by name, before anything else in them is looked at.
#include <array>
#include <catch2/catch.hpp>

#include "agent/llm/api/model_catalog.h"
#include "agent/llm/api/recording.h"
#include "app/exchange/exchange_folder.h"
#include "app/experiment/manifest.h"
#include "app/kernel_library/model_kind.h"
#include "app/search/best_points.h"
#include "app/session/session_manifest.h"
#include "app/setup/config.h"
#include "app/setup/pool_file.h"
#include "codegen/problem/problem_catalog.h"
#include "core/device/device_catalog.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/locations.h"
#include "tests/support/run_program.h"

namespace ak {
namespace {

namespace fs = std::filesystem;

/// A reader of files, and the smallest file of version 1 as far as the version goes.
struct FileFormat {
  std::string name;  ///< of the file
  std::string text;  ///< {} stands for the version and the comma after it
  std::string key;
  std::string in_messages;
  void (*read)(const fs::path& file);
};

void read_config(const fs::path& file) {
  const struct Elsewhere {
    explicit Elsewhere(const fs::path& config) { set_locations({.program = {}, .config = config}); }
    ~Elsewhere() { set_locations({}); }
  } elsewhere(file);
  static_cast<void>(app::load_config());
}

const std::array kFormats{
    FileFormat{"problem.json", R"({{}"name": "p"})", "format", "problem.json",
               [](const fs::path& file) { static_cast<void>(codegen::load_problem(file.parent_path())); }},
    FileFormat{"sums.json", R"({{}"name": "sums"})", "format", "the manifest of an experiment",
               [](const fs::path& file) { static_cast<void>(app::read_manifest(file)); }},
    FileFormat{"night.json", R"({{}"name": "night"})", "format", "the manifest of a session",
               [](const fs::path& file) { static_cast<void>(app::read_session_manifest(file, ".")); }},
    FileFormat{"best.json", R"({{}"format": "alphakernel best points"})", "version", "a file of best points",
               [](const fs::path& file) { static_cast<void>(app::read_best_points(file)); }},
    FileFormat{"pool.json", R"({{}"devices": [{"local": "emulator"}]})", "format", "a file of a pool",
               [](const fs::path& file) { static_cast<void>(app::read_pool(file)); }},
    FileFormat{"config.json", R"({{}"arch": "h200"})", "format", "the configuration", read_config},
    FileFormat{
        "mine.json", R"({{}"name": "mine", "arch": "sm_90"})", "format", "a device's file",
        [](const fs::path& file) { static_cast<void>(DeviceCatalog::with_folder(file.parent_path())); }},
    FileFormat{"models.json", R"({{}"provider": "mine", "source": "me", "models": []})", "format",
               "a file of language models",
               [](const fs::path& file) { static_cast<void>(agent::ModelCatalog::with_file(file)); }},
    FileFormat{"kind.json", R"({{}"name": "mixer"})", "format", "a kind of model",
               [](const fs::path& file) { static_cast<void>(app::read_model_kind(file)); }},
    FileFormat{"answers.jsonl", R"({{}"reply": {"text": "yes"}})", "format", "an exchange",
               [](const fs::path& file) { static_cast<void>(agent::ReplayClient(file)); }},
};

std::string with_version(const FileFormat& format, const std::string& version) {
  std::string text = format.text;
  return text.replace(text.find("{}"), 2, version.empty() ? "" : "\"" + format.key + "\": " + version + ", ");
}

std::string failure(const FileFormat& format, const std::string& version) {
  const testing::TemporaryFolder folder;
  write_file_atomically(folder / format.name, with_version(format, version));
  try {
    format.read(folder / format.name);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    CHECK_THAT(error.what(), Catch::StartsWith((folder / format.name).string()));
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a file of a newer version is refused by name; without a version it is of the first") {
  for (const FileFormat& format : kFormats) {
    INFO(format.name);
    const std::string refusal =
        format.in_messages + " has format 2; this AlphaKernel reads up to 1: update AlphaKernel";
    CHECK_THAT(failure(format, "2"), Catch::EndsWith(refusal));
    CHECK_THAT(failure(format, "\"1\""), Catch::Contains(format.key + ": expected an integer"));
    for (const char* version : {"", "1"})
      CHECK_THAT(failure(format, version), !Catch::Contains("update AlphaKernel"));
  }
}

TEST_CASE("the notes of a data set have a version, and those of a newer one are a fault") {
  const testing::TemporaryFolder folder;
  app::ExchangeSet set;
  set.notes["definitions"]["a"] = {{"problem", "p"}};
  app::write_exchange(folder.path(), set);
  CHECK(parse_json(read_file(folder / app::kExchangeNotes)).at("format") == 1);
  std::vector<app::FileFault> faults;
  CHECK(app::read_exchange(folder.path(), faults).notes == set.notes);
  CHECK(faults.empty());
  write_file_atomically(folder / app::kExchangeNotes, R"({"format": 2, "definitions": {}})");
  CHECK(app::read_exchange(folder.path(), faults).notes.empty());
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].message ==
        "alphakernel.json has format 2; this AlphaKernel reads up to 1: update AlphaKernel");
}

}  // namespace ak
