// SPDX-License-Identifier: Apache-2.0
#include "app/exchange/exchange_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/json_nesting.h"
#include "core/text/json_reader.h"
#include "core/text/written_json.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr Format kNotesFormat{.name = kExchangeNotes};
constexpr std::size_t kLongestName = 200;

std::optional<Json> parsed(const std::string& text) {
  Json json = try_parse_json(text);
  return json.is_discarded() ? std::nullopt : std::optional(std::move(json));
}

using FileCheck = SchemaFaults (*)(const Json&);

class Reader {
 public:
  Reader(const fs::path& folder, std::vector<FileFault>& faults) : folder_(folder), faults_(faults) {}

  [[nodiscard]] ExchangeSet read() {
    std::set<fs::path> files;
    constexpr auto kOptions = fs::directory_options::skip_permission_denied;
    for (const auto& entry : fs::recursive_directory_iterator(folder_, kOptions))
      if (entry.is_regular_file() && !entry.is_symlink()) files.insert(entry.path());
    for (const fs::path& file : files) read_one(fs::relative(file, folder_).generic_string());
    return std::move(set_);
  }

 private:
  void read_one(const std::string& path) {
    const std::string text = read_file(folder_ / path);
    if (path.starts_with("definitions/") && path.ends_with(".json"))
      put(set_.definitions, path, text, check_definition);
    else if (path.starts_with("solutions/") && path.ends_with(".json"))
      put(set_.solutions, path, text, check_solution);
    else if (path.starts_with("workloads/") && path.ends_with(".jsonl"))
      put_lines(set_.workloads, path, text);
    else if (path.starts_with("traces/") && path.ends_with(".jsonl"))
      put_lines(set_.traces, path, text);
    else if (path == kExchangeNotes)
      read_notes(text);
    else
      set_.others[path] = text;
  }

  void read_notes(const std::string& text) {
    auto json = parsed(text);
    if (!json || !json->is_object()) {
      faults_.push_back({kExchangeNotes, "expected a JSON object"});
      return;
    }
    try {
      set_.notes = up_to_date(kNotesFormat, std::move(*json));
      set_.notes.erase(std::string(kNotesFormat.key));
    } catch (const JsonInputError& error) {
      faults_.push_back({kExchangeNotes, error.what()});
    }
  }

  [[nodiscard]] std::optional<Json> checked(const std::string& place, const std::string& text,
                                            FileCheck check) {
    auto json = parsed(text);
    if (!json) {
      faults_.push_back({place, fmt::format("expected JSON of at most {} levels", kMaxJsonNesting)});
      return std::nullopt;
    }
    if (const auto repeated = find_repeated_key(text)) {
      faults_.push_back({place, fmt::format("the key '{}' is there twice", repeated->key)});
      return std::nullopt;
    }
    const SchemaFaults found = check(*json);
    if (found.empty()) return json;
    faults_.push_back({place, faults_text(found)});
    return std::nullopt;
  }

  void put(std::map<std::string, Json>& files, const std::string& path, const std::string& text,
           FileCheck check) {
    if (auto json = checked(path, text, check)) files[path] = std::move(*json);
  }

  void put_lines(std::map<std::string, std::vector<Json>>& files, const std::string& path,
                 const std::string& text) {
    std::size_t line = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string one = text.substr(at, end - at);
      at = end + 1;
      ++line;
      if (one.find_first_not_of(" \t\r") == std::string::npos) continue;
      if (auto json = checked(fmt::format("{}:{}", path, line), one, check_trace))
        files[path].push_back(std::move(*json));
    }
  }

  const fs::path& folder_;
  std::vector<FileFault>& faults_;
  ExchangeSet set_;
};

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void write_text(const fs::path& folder, const std::string& path, const std::string& text) {
  std::error_code error;
  fs::create_directories((folder / path).parent_path(), error);
  if (error)
    fail(ExitCode::output, "cannot make {}: {}", (folder / path).parent_path().string(), error.message());
  write_file_atomically(folder / path, text);
}

void write_lines(const fs::path& folder, const std::map<std::string, std::vector<Json>>& files) {
  for (const auto& [path, lines] : files) {
    std::string text;
    for (const Json& line : lines) text += line_of(line) + "\n";
    write_text(folder, path, text);
  }
}

std::string name_of(const Json& json, const char* key) {
  const auto name = json.at(key).get<std::string>();
  if (!is_file_name(name))
    fail(ExitCode::bad_input,
         "{} '{}' cannot be the name of a file: expected letters, digits and . _ - + = @", key, name);
  return name;
}

}  // namespace

bool is_file_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-+=@").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' && std::ranges::all_of(name, fits);
}

ExchangeSet read_exchange(const fs::path& folder, std::vector<FileFault>& faults) {
  if (!fs::is_directory(folder)) fail(ExitCode::bad_input, "there is no folder {}", folder.string());
  return Reader(folder, faults).read();
}

void write_exchange(const fs::path& folder, const ExchangeSet& set) {
  for (const auto* files : {&set.definitions, &set.solutions})
    for (const auto& [path, json] : *files)
      write_text(folder, path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  write_lines(folder, set.workloads);
  write_lines(folder, set.traces);
  for (const auto& [path, text] : set.others) write_text(folder, path, text);
  if (!set.notes.empty()) {
    Json notes = set.notes;
    set_version(kNotesFormat, notes);
    write_text(folder, kExchangeNotes, notes.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
}

void merge_exchange(ExchangeSet& set, const ExchangeSet& added) {
  set.definitions.insert(added.definitions.begin(), added.definitions.end());
  set.solutions.insert(added.solutions.begin(), added.solutions.end());
  set.others.insert(added.others.begin(), added.others.end());
  for (const auto& [path, lines] : added.workloads) {
    std::set<std::string> known;
    for (const Json& line : set.workloads[path]) known.insert(line["workload"]["uuid"].get<std::string>());
    for (const Json& line : lines)
      if (known.insert(line["workload"]["uuid"].get<std::string>()).second)
        set.workloads[path].push_back(line);
  }
  for (const auto& [path, lines] : added.traces) {
    std::set<std::string> known;
    for (const Json& line : set.traces[path]) known.insert(line_of(line));
    for (const Json& line : lines)
      if (known.insert(line_of(line)).second) set.traces[path].push_back(line);
  }
  for (const auto& [key, values] : added.notes.items()) {
    if (!set.notes.contains(key)) set.notes[key] = values;
    if (!values.is_object() || !set.notes[key].is_object()) continue;
    for (const auto& [name, value] : values.items())
      if (!set.notes[key].contains(name)) set.notes[key][name] = value;
  }
}

std::string definition_path(const Json& definition) {
  return fmt::format("definitions/{}/{}.json", name_of(definition, "op_type"), name_of(definition, "name"));
}
std::string workloads_path(const Json& definition) {
  return fmt::format("workloads/{}/{}.jsonl", name_of(definition, "op_type"), name_of(definition, "name"));
}
std::string solution_path(const Json& solution, const Json& definition) {
  return fmt::format("solutions/{}/{}/{}/{}.json", name_of(solution, "author"),
                     name_of(definition, "op_type"), name_of(definition, "name"), name_of(solution, "name"));
}
std::string traces_path(const std::string& author, const Json& definition) {
  return fmt::format("traces/{}/{}/{}.jsonl", author, name_of(definition, "op_type"),
                     name_of(definition, "name"));
}

}  // namespace ak::app
