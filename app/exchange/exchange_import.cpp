// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "app/exchange/exchange.h"
#include "core/error.h"
#include "core/plan/candidate.h"
#include "db/store/exchange_writer.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> count_of(const Json& notes, const char* key) {
  return notes.contains(key) && notes[key].is_number_integer() ? std::optional(notes[key].get<std::int64_t>())
                                                               : std::nullopt;
}

/// What the notes say of something; an empty object where they say nothing.
Json note_of(const Json& notes, const char* kind, const std::string& name) {
  if (!notes.contains(kind) || !notes[kind].is_object() || !notes[kind].contains(name)) return Json::object();
  const Json& note = notes[kind][name];
  return note.is_object() ? note : Json::object();
}

template <class T>
T value_or(const Json& note, const char* key, T otherwise, bool (Json::*is)() const noexcept) {
  return note.contains(key) && (note[key].*is)() ? note[key].get<T>() : otherwise;
}

db::WorkloadRow workload_of(const Json& json, const Json& note) {
  db::WorkloadRow workload;
  workload.uid = json["uuid"].get<std::string>();
  workload.axes = json["axes"].get<AxisValues>();
  workload.name = value_or(note, "name", workload.uid, &Json::is_string);
  const std::string tier = value_or(note, "tier", std::string("gpu"), &Json::is_string);
  workload.tier = tier == "emulator" || tier == "deep" ? tier : "gpu";
  workload.weight = std::max(0.0, value_or(note, "weight", 1.0, &Json::is_number));
  workload.checked = value_or(note, "checked", true, &Json::is_boolean);
  workload.timed = value_or(note, "timed", true, &Json::is_boolean);
  workload.flops = count_of(note, "flops");
  workload.bytes_read = count_of(note, "bytes_read");
  workload.bytes_written = count_of(note, "bytes_written");
  return workload;
}

struct KnownDefinition {
  Json json, params;
  std::optional<RowId> row;  ///< nothing where this program cannot read it
};

class Importer {
 public:
  Importer(const fs::path& folder, const fs::path& database)
      : database_(database), set_(read_exchange(folder, report_.faults)), writer_(database) {}

  [[nodiscard]] ExchangeReport read() {
    set_.notes.erase("variants");  // says which rows of another database are which solutions
    for (const auto& [path, json] : set_.definitions) put_definition(json);
    for (const auto& [path, lines] : set_.workloads)
      for (const Json& line : lines) put_workload(path, line);
    for (const auto& [path, json] : set_.solutions) put_solution(path, json);
    for (const auto& [path, lines] : set_.traces) report_.traces += lines.size();
    keep();
    writer_.commit();
    if (report_.traces > 0)
      report_.notes.push_back(fmt::format(
          "{} traces are kept and not ranked: they were measured by other rules", report_.traces));
    return std::move(report_);
  }

 private:
  void put_definition(const Json& json) {
    ++report_.definitions;
    const auto name = json["name"].get<std::string>();
    const Json note = note_of(set_.notes, "definitions", name);
    KnownDefinition known{
        .json = json,
        .params = note.contains("params") && note["params"].is_object() ? note["params"] : Json::object(),
        .row = {}};
    const Result<Definition> definition = definition_from_json(json);
    if (definition && to_json(*definition) == json)
      known.row = writer_.put_definition(
          *definition, value_or(note, "problem", json["op_type"].get<std::string>(), &Json::is_string),
          known.params);
    else
      report_.notes.push_back(
          fmt::format("definition {} is only kept: {}", name,
                      definition ? "it has what this program has no field for" : definition.error().message));
    definitions_.insert_or_assign(name, std::move(known));
  }

  void put_workload(const std::string& path, const Json& line) {
    ++report_.workloads;
    const auto known = definitions_.find(line["definition"].get<std::string>());
    if (known == definitions_.end()) {
      report_.notes.push_back(fmt::format("{}: a workload of {} is only kept: its definition is missing",
                                          path, line["definition"].get<std::string>()));
      return;
    }
    const Json& workload = line["workload"];
    const SchemaFaults faults = check_workload_of(workload, known->second.json);
    if (!faults.empty()) {
      report_.faults.push_back({path, faults_text(faults)});
      return;
    }
    if (!known->second.row) return;
    const bool random =
        std::ranges::all_of(workload["inputs"], [](const Json& input) { return input["type"] == "random"; });
    const auto uid = workload["uuid"].get<std::string>();
    if (!random)
      report_.notes.push_back(
          fmt::format("workload {}: its inputs are only kept; here they are drawn at random", uid));
    writer_.put_workload(*known->second.row, workload_of(workload, note_of(set_.notes, "workloads", uid)));
  }

  void put_solution(const std::string& path, const Json& json) {
    ++report_.solutions;
    const auto name = json["name"].get<std::string>();
    const auto only_kept = [&](const std::string& why) {
      report_.notes.push_back(fmt::format("solution {} is only kept: {}", name, why));
    };
    const auto known = definitions_.find(json["definition"].get<std::string>());
    if (known == definitions_.end()) return only_kept("its definition is missing");
    if (json["spec"]["language"] != "cuda")
      return only_kept(fmt::format("it is in {}", json["spec"]["language"].get<std::string>()));
    if (!known->second.row) return only_kept("its definition is");
    for (const Json& source : json["sources"]) {
      const Result<Candidate> candidate =
          parse_candidate(source["path"].get<std::string>(), source["content"].get<std::string>());
      if (!candidate) continue;
      writer_.put_variant(*known->second.row, *candidate, known->second.params);
      ++report_.variants;
      set_.notes["variants"][candidate->variant_hash()] = {
          {"solution", name}, {"author", json["author"]}, {"path", path}};
      return;
    }
    only_kept("none of its sources begins with a launch plan");
  }

  /// Before the rows are committed: rows without what is kept would lose it.
  void keep() {
    const fs::path folder = kept_folder(database_);
    std::vector<FileFault> ignored;  // shown when they were read first
    ExchangeSet kept = fs::is_directory(folder) ? read_exchange(folder, ignored) : ExchangeSet{};
    merge_exchange(kept, set_);
    write_exchange(folder, kept);
  }

  fs::path database_;
  ExchangeReport report_;
  ExchangeSet set_;
  db::ExchangeWriter writer_;
  std::map<std::string, KnownDefinition> definitions_;
};

}  // namespace

ExchangeReport import_exchange(const fs::path& folder, const fs::path& database) {
  return Importer(folder, database).read();
}

}  // namespace ak::app
