// SPDX-License-Identifier: Apache-2.0
// Why a kernel failed, and what to try.
#include <fmt/format.h>

#include "app/operations/evaluation_brief.h"
#include "app/operations/failure_advice.h"
#include "app/operations/operation.h"
#include "core/error.h"
#include "core/text/suggest.h"
#include "db/read/table_rows.h"
#include "db/store/stored_diagnostics.h"

namespace ak::operations {
namespace {

constexpr int kLinesAround = 2;

/// An evaluation as the database has it.
db::Table stored_evaluation(const Json& request, const Context& context) {
  const bool by_variant = request.contains("variant");
  const auto number = request.at(by_variant ? "variant" : "evaluation").get<std::int64_t>();
  db::Table table = db::query(
      context.database,
      fmt::format(
          "SELECT e.id, e.variant_id, d.name AS problem, e.status, e.stage, e.gate, e.message, "
          "e.diagnostics, s.text, "
          "dev.name AS device FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN sources s ON "
          "s.id = "
          "v.source_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id "
          "WHERE e.{} = {} ORDER BY e.status IN ('ok', 'compiled_only'), e.ended_at DESC, e.id DESC LIMIT 1",
          by_variant ? "variant_id" : "id", number),
      1, kQueryTimeLimit);
  if (table.rows.empty())
    fail(ExitCode::usage, "the database has no evaluation of {} {}", by_variant ? "variant" : "number",
         number);
  return table;
}

Json failed_checks(std::int64_t evaluation, const Context& context) {
  const db::Table table = db::query(
      context.database,
      fmt::format(
          "SELECT json_object('shape', json(w.axes), 'distribution', c.distribution, 'tensor', c.tensor, "
          "'max_error', c.max_error, 'tolerance', c.tolerance, 'worst_index', c.worst_index, 'expected', "
          "c.worst_expected, 'got', c.worst_got) AS failed_check FROM checks c JOIN workloads w ON w.id = "
          "c.workload_id WHERE c.evaluation_id = {} AND c.passed = 0 ORDER BY w.id LIMIT 3",
          evaluation),
      3, kQueryTimeLimit);
  Json list = Json::array();
  for (const db::TableRow& row : db::rows_of(table)) list.push_back(parse_json(row.text("failed_check")));
  return list;
}

Json gate_json(Gate gate) { return {{"name", to_string(gate)}, {"promise", info(gate).promise}}; }

/// Advice of findings first: it is about the very line.
Json advice_list(const std::vector<Diagnostic>& diagnostics, const std::optional<Gate>& gate,
                 const std::optional<Status>& status) {
  Json list = Json::array();
  const auto add = [&](const std::string& advice) {
    if (!advice.empty() && std::ranges::find(list, Json(advice)) == list.end()) list.push_back(advice);
  };
  for (const Diagnostic& d : diagnostics) {
    const Json details = try_parse_json(d.details);
    if (details.is_object()) add(details.value("advice", ""));
  }
  if (gate) add(std::string(advice_for(*gate)));
  if (status) add(std::string(advice_for(*status)));
  return list;
}

Answer explain_gate(const std::string& name) {
  const auto gate = parse_gate(name);
  std::vector<std::string> names;
  for (const GateInfo& each : gates()) names.emplace_back(each.name);
  if (!gate) fail(ExitCode::usage, "no gate '{}'{}", sanitize(name, 80), did_you_mean(name, names));
  return {.content = {{"gate", gate_json(*gate)}, {"try", advice_list({}, gate, {})}}};
}

}  // namespace

Answer explain_failure(const Json& request, const Context& context, const Callbacks&) {
  if (request.size() != 1)
    fail(ExitCode::usage, "say what to explain: exactly one of variant, evaluation and gate");
  if (request.contains("gate")) return explain_gate(request["gate"]);
  const db::Table stored = stored_evaluation(request, context);
  const db::TableRow row = db::rows_of(stored).front();
  const auto status = parse_status(row.text("status"));
  const auto gate = parse_gate(row.text("gate"));
  const auto diagnostics = db::stored_diagnostics(row.text("diagnostics"));
  const auto evaluation = row.integer("id");
  Json json{{"evaluation", evaluation},       {"variant", row.integer("variant_id")},
            {"problem", row.text("problem")}, {"device", row.text("device")},
            {"status", row.text("status")},   {"meaning", status ? info(*status).meaning : ""},
            {"stage", row.text("stage")}};
  if (gate) json["gate"] = gate_json(*gate);
  json["message"] = sanitize(row.text("message"), 4'000);
  json["findings"] = findings(diagnostics, row.text("text"), kLinesAround);
  json["failed_checks"] = failed_checks(evaluation, context);
  json["try"] = advice_list(diagnostics, gate, status);
  return {.content = std::move(json)};
}

}  // namespace ak::operations
