// SPDX-License-Identifier: Apache-2.0
#include "app/board/board_manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "app/search/manifest_fields.h"
#include "board_manifest_files.h"
#include "core/error.h"
#include "core/text/data_files.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/json_reader.h"
#include "core/text/suggest.h"
#include "core/text/written_json.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr Format kManifestFormat{.name = "the manifest of a board"};

// What a run of a session may say, and a board says itself.
constexpr std::string_view kBoardsOwn[] = {"name", "output", "problem", "device", "pool", "arch"};

/// Keys of a session's run; which there are, and what they hold, its own reader says when the task is begun.
void take_run_keys(const JsonReader& at, std::initializer_list<std::string_view> others, Json& run) {
  for (const auto& [key, value] : at.members()) {
    if (std::ranges::find(others, key) != others.end()) continue;
    if (std::ranges::find(kBoardsOwn, key) != std::end(kBoardsOwn))
      value.reject("a board says this itself, or a flag of `board run` does");
    run[key] = value.json();
  }
}

ListedTask read_task(const JsonReader& at) {
  ListedTask task;
  if (const auto given = at.find("file")) task.file = read_text(*given, "a file of the folder of tasks");
  if (const auto given = at.find("own")) task.own = given->boolean();
  if (const auto given = at.find("sha256")) task.sha256 = read_text(*given, "the SHA-256 of the file");
  if (const auto given = at.find("cell")) task.cell = read_text(*given, "the name of a cell");
  if (const auto given = at.find("note")) task.note = read_text(*given, "a sentence");
  const fs::path file = fs::path(task.file).lexically_normal();
  if (file.is_absolute() || (!file.empty() && *file.begin() == ".."))
    at.member("file").fail("a path below the folder of tasks");
  if (const auto given = at.find("name"))
    task.name = read_name(*given);
  else if (!file.empty())
    task.name = task_name(fs::path(file).replace_extension().generic_string());
  take_run_keys(at, {"name", "file", "own", "sha256", "cell", "note"}, task.run);
  if (task.file.empty() && !task.served_by_template()) at.reject("expected 'file' or 'algorithm', or both");
  if (task.own && task.file.empty()) at.reject("the key 'file' is missing");
  if (task.name.empty()) task.name = read_name(at.member("algorithm"));
  return task;
}

BoardManifest read(const JsonReader& at, const fs::path& file) {
  at.only({"format", "name", "question", "other_files", "defaults", "tasks"});
  BoardManifest manifest;
  manifest.file = file;
  manifest.name = read_name(at.member("name"));
  if (manifest.name != file.stem().string())
    at.member("name").fail(fmt::format("the name of the file, \"{}\"", file.stem().string()));
  manifest.question = read_text(at.member("question"), "a sentence");
  if (const auto given = at.find("other_files")) manifest.other_files = given->boolean();
  if (const auto given = at.find("defaults")) take_run_keys(*given, {}, manifest.defaults);
  std::set<std::string> names;
  if (const auto given = at.find("tasks")) {
    for (const JsonReader& item : given->items()) {
      manifest.tasks.push_back(read_task(item));
      if (const std::string& name = manifest.tasks.back().name; !names.insert(name).second)
        item.reject(fmt::format("another task is called '{}' too; give it a 'name'", name));
    }
  }
  if (manifest.tasks.empty() && !manifest.other_files) at.member("tasks").fail("at least one task");
  return manifest;
}

}  // namespace

bool BoardManifest::needs_folder() const {
  return other_files ||
         std::ranges::any_of(tasks, [](const ListedTask& task) { return !task.file.empty() && !task.own; });
}

std::string task_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    name += byte < 0x80 && std::isalnum(byte) ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return name;
}

BoardManifest read_board_manifest(const fs::path& file) {
  const EmbeddedFile* shipped = find_compiled_in(board_manifest_files(), file);
  const std::string text = shipped == nullptr ? read_file(file) : std::string(shipped->text);
  try {
    const Json json = up_to_date(kManifestFormat, parse_written_json(text));
    return read(JsonReader(json), file);
  } catch (const Json::parse_error& error) {
    fail(ExitCode::bad_input, "{}: not JSON: {}", file.string(), error.what());
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", file.string(), input_error.what());
  }
}

std::string own_file_text(const BoardManifest& manifest, const std::string& file) {
  const fs::path path = manifest.file.parent_path() / file;
  const EmbeddedFile* shipped = find_compiled_in(board_manifest_files(), path);
  return shipped == nullptr ? read_file(path) : std::string(shipped->text);
}

std::vector<fs::path> list_board_manifests() {
  std::map<std::string, fs::path> found;
  for (const fs::path& folder :
       data_search_path("ALPHAKERNEL_BOARDS", "experiments/boards", AK_SOURCE_EXPERIMENTS "/boards")) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder, missing)) {
      if (entry.path().extension() == ".json") found.emplace(entry.path().stem().string(), entry.path());
    }
  }
  for (const EmbeddedFile& file : board_manifest_files()) {
    const fs::path path = compiled_in_folder(file.name);
    if (path.extension() == ".json") found.emplace(path.stem().string(), path);
  }
  std::vector<fs::path> files;
  for (const auto& [name, file] : found) files.push_back(file);
  return files;
}

fs::path find_board_manifest(const std::string& file_or_name) {
  if (fs::is_regular_file(file_or_name)) return file_or_name;
  std::vector<std::string> names;
  for (const fs::path& file : list_board_manifests()) {
    if (file.stem() == file_or_name) return file;
    names.push_back(file.stem().string());
  }
  fail(ExitCode::usage, "there is no board '{}'{}; expected a manifest or one of: {}",
       sanitize(file_or_name, 60), did_you_mean(file_or_name, names), fmt::join(names, ", "));
}

}  // namespace ak::app
