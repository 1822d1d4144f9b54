// SPDX-License-Identifier: Apache-2.0
#include "db/read/exchange_rows.h"

#include "core/text/hash.h"
#include "db/schema.h"
#include "db/sqlite.h"
#include "db/store/sqlite_store.h"

namespace ak::db {
namespace {

constexpr const char* kDefinitions = R"sql(
SELECT id, name, problem, params, definition FROM definitions d
WHERE id = (SELECT max(id) FROM definitions o WHERE o.name = d.name) ORDER BY name)sql";

constexpr const char* kWorkloads = R"sql(
SELECT workload_uid, name, tier, axes, weight, checked, timed, flops, bytes_read, bytes_written FROM workloads w
WHERE definition_id = ?1 AND id = (SELECT max(id) FROM workloads o WHERE o.definition_id = ?1 AND o.workload_uid = w.workload_uid)
ORDER BY (SELECT min(id) FROM workloads o WHERE o.definition_id = ?1 AND o.workload_uid = w.workload_uid))sql";

constexpr const char* kVariants = R"sql(
SELECT v.id, v.variant_hash, v.name, s.text, v.tunables
FROM variants v JOIN sources s ON s.id = v.source_id
WHERE v.definition_id = ?1
  AND EXISTS (SELECT 1 FROM evaluations e JOIN devices d ON d.id = e.device_id AND d.kind = 'cuda'
              WHERE e.variant_id = v.id AND (?2 OR e.status = 'ok'))
ORDER BY v.id)sql";

constexpr const char* kRan = R"sql(
SELECT s.arch, d.name FROM evaluations e JOIN sessions s ON s.id = e.session_id
JOIN devices d ON d.id = e.device_id AND d.kind = 'cuda' WHERE e.variant_id = ? ORDER BY e.id DESC)sql";

// Of every evaluation each shape that it checked or timed; of one that reached none the first shape.
constexpr const char* kResults = R"sql(
WITH reached AS (
  SELECT evaluation_id, workload_id FROM checks UNION
  SELECT evaluation_id, workload_id FROM measurements WHERE role = 'candidate'),
bases AS (
  SELECT e.session_id, m.workload_id, coalesce(min(m.median_ns) FILTER (WHERE m.label = 'naive'), max(m.median_ns)) AS ns
  FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id
  WHERE m.role = 'baseline' AND m.cold = 1 AND e.session_id IN (SELECT session_id FROM evaluations WHERE variant_id = ?1)
  GROUP BY e.session_id, m.workload_id)
SELECT w.workload_uid, e.status, e.message, d.name, n.alphakernel_version, e.ended_at, n.driver_version,
       (SELECT max(c.max_error) FROM checks c WHERE c.evaluation_id = e.id AND c.workload_id = w.id),
       (SELECT max(abs(c.worst_got - c.worst_expected)) FROM checks c WHERE c.evaluation_id = e.id AND c.workload_id = w.id),
       EXISTS (SELECT 1 FROM checks c WHERE c.evaluation_id = e.id AND c.workload_id = w.id),
       (SELECT m.median_ns FROM measurements m WHERE m.evaluation_id = e.id AND m.workload_id = w.id
        AND m.role = 'candidate' AND m.cold = 1), b.ns
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN sessions s ON s.id = e.session_id
JOIN environments n ON n.id = s.environment_id JOIN devices d ON d.id = e.device_id AND d.kind = 'cuda'
LEFT JOIN reached r ON r.evaluation_id = e.id
JOIN workloads w ON w.id = coalesce(r.workload_id, (SELECT min(o.id) FROM workloads o WHERE o.definition_id = s.definition_id))
LEFT JOIN bases b ON b.session_id = e.session_id AND b.workload_id = w.id
WHERE e.variant_id = ?1 AND e.status NOT IN ('compiled_only', 'pruned', 'interrupted')
  AND p.arm NOT IN ('comparison', 'held_out', 'examination', 'profile')
ORDER BY e.id, w.id)sql";

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::optional<std::int64_t> known(const Statement& row, int column) {
  return row.real(column) ? std::optional(row.integer(column)) : std::nullopt;
}

Json number(const std::optional<std::int64_t>& value) { return value ? Json(*value) : Json(); }

}  // namespace

std::vector<ExchangedDefinition> exchanged_definitions(const std::filesystem::path& file) {
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(kDefinitions);
  std::vector<ExchangedDefinition> list;
  while (row.step())
    list.push_back({.id = row.integer(0),
                    .name = row.text(1),
                    .problem = row.text(2),
                    .params = parse_json(row.text(3)),
                    .definition = parse_json(row.text(4))});
  return list;
}

std::vector<ExchangedWorkload> exchanged_workloads(const std::filesystem::path& file, RowId definition) {
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(kWorkloads).bind(1, definition);
  std::vector<ExchangedWorkload> list;
  while (row.step())
    list.push_back({.uid = row.text(0),
                    .name = row.text(1),
                    .tier = row.text(2),
                    .axes = parse_json(row.text(3)).get<AxisValues>(),
                    .weight = row.real(4).value_or(1),
                    .checked = row.integer(5) != 0,
                    .timed = row.integer(6) != 0,
                    .flops = known(row, 7),
                    .bytes_read = known(row, 8),
                    .bytes_written = known(row, 9)});
  return list;
}

std::vector<ExchangedVariant> exchanged_variants(const std::filesystem::path& file, RowId definition,
                                                 bool all) {
  Connection connection(file, OpenMode::read_only);
  std::vector<ExchangedVariant> list;
  Statement& row = connection.prepare(kVariants).bind(1, definition).bind(2, all);
  while (row.step())
    list.push_back({.id = row.integer(0),
                    .hash = row.text(1),
                    .name = row.text(2),
                    .source = row.text(3),
                    .tunables = parse_json(row.text(4)),
                    .arch = "",
                    .devices = {}});
  for (ExchangedVariant& variant : list) {
    Statement& ran = connection.prepare(kRan).bind(1, variant.id);
    while (ran.step()) {
      if (variant.arch.empty()) variant.arch = ran.text(0);
      const std::string device = ran.text(1);
      if (std::find(variant.devices.begin(), variant.devices.end(), device) == variant.devices.end())
        variant.devices.push_back(device);
    }
    ran.reset();
  }
  return list;
}

std::vector<ExchangedResult> exchanged_results(const std::filesystem::path& file, RowId variant) {
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(kResults).bind(1, variant);
  std::vector<ExchangedResult> list;
  while (row.step())
    list.push_back({.workload_uid = row.text(0),
                    .status = row.text(1),
                    .message = row.text(2),
                    .device = row.text(3),
                    .version = row.text(4),
                    .ended_at = row.text(5),
                    .driver_version = row.integer(6),
                    .max_error = row.real(7),
                    .absolute_error = row.real(8),
                    .checked = row.integer(9) != 0,
                    .median_ns = row.real(10),
                    .baseline_ns = row.real(11)});
  return list;
}

class ExchangeWriter::Parts {
 public:
  explicit Parts(const std::filesystem::path& file) : connection_(file, OpenMode::create) {
    prepare_database(connection_, file);
    transaction_.emplace(connection_);
  }

  [[nodiscard]] std::optional<RowId> find(Statement& query) {
    const std::optional<RowId> row = query.step() ? std::optional(query.integer(0)) : std::nullopt;
    query.reset();
    return row;
  }

  Connection connection_;
  std::optional<Transaction> transaction_;
};

ExchangeWriter::ExchangeWriter(const std::filesystem::path& file) : parts_(std::make_unique<Parts>(file)) {}
ExchangeWriter::~ExchangeWriter() = default;

RowId ExchangeWriter::put_definition(const Definition& definition, const std::string& problem,
                                     const Json& params) {
  Connection& connection = parts_->connection_;
  const std::string hash = definition.hash();
  if (const auto row =
          parts_->find(connection.prepare("SELECT id FROM definitions WHERE content_hash = ?").bind(1, hash)))
    return *row;
  const auto uid = random_uid();
  connection
      .prepare(
          "INSERT INTO definitions (uid, content_hash, name, problem, params, definition) VALUES "
          "(?,?,?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, hash)
      .bind(3, definition.name)
      .bind(4, problem)
      .bind(5, dump(params))
      .bind(6, dump(to_json(definition)))
      .run();
  return connection.last_row_id();
}

void ExchangeWriter::put_workload(RowId definition, const ExchangedWorkload& workload) {
  Connection& connection = parts_->connection_;
  // In the order of SqliteStore::workload_row, so that the same shape is the same row.
  const Json content{workload.name,
                     workload.uid,
                     workload.axes,
                     workload.tier,
                     workload.checked,
                     workload.weight,
                     workload.timed,
                     number(workload.flops),
                     number(workload.bytes_read),
                     number(workload.bytes_written)};
  const std::string hash = sha256_hex(dump(content));
  auto& query = connection.prepare("SELECT id FROM workloads WHERE definition_id = ? AND content_hash = ?");
  if (parts_->find(query.bind(1, definition).bind(2, hash))) return;
  const auto uid = random_uid();
  connection
      .prepare(
          "INSERT INTO workloads (uid, definition_id, name, workload_uid, content_hash, axes, tier, weight, "
          "checked, timed, flops, bytes_read, bytes_written) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, definition)
      .bind(3, workload.name)
      .bind(4, workload.uid)
      .bind(5, hash)
      .bind(6, dump(Json(workload.axes)))
      .bind(7, workload.tier)
      .bind(8, workload.weight)
      .bind(9, workload.checked)
      .bind(10, workload.timed)
      .bind(11, workload.flops)
      .bind(12, workload.bytes_read)
      .bind(13, workload.bytes_written)
      .run();
}

void ExchangeWriter::put_variant(RowId definition, const Candidate& candidate, const Json& params) {
  Connection& connection = parts_->connection_;
  const std::string hash = candidate.variant_hash(), source_hash = candidate.source_hash();
  auto& query = connection.prepare("SELECT id FROM variants WHERE definition_id = ? AND variant_hash = ?");
  if (parts_->find(query.bind(1, definition).bind(2, hash))) return;
  auto source =
      parts_->find(connection.prepare("SELECT id FROM sources WHERE content_hash = ?").bind(1, source_hash));
  if (!source) {
    const auto uid = random_uid();
    connection.prepare("INSERT INTO sources (uid, content_hash, text) VALUES (?,?,?)")
        .bind(1, Blob(uid))
        .bind(2, source_hash)
        .bind(3, candidate.source)
        .run();
    source = connection.last_row_id();
  }
  const auto uid = random_uid();
  connection
      .prepare(
          "INSERT INTO variants (uid, definition_id, source_id, variant_hash, name, plan, params, tunables) "
          "VALUES (?,?,?,?,?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, definition)
      .bind(3, *source)
      .bind(4, hash)
      .bind(5, candidate.name)
      .bind(6, dump(to_json(candidate.plan)))
      .bind(7, dump(params))
      .bind(8, dump(Json(candidate.tunables)))
      .run();
}

void ExchangeWriter::commit() { parts_->transaction_->commit(); }

}  // namespace ak::db
