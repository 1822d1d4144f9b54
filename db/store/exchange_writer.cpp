// SPDX-License-Identifier: Apache-2.0
#include "db/store/exchange_writer.h"

#include "db/schema.h"
#include "db/store/variant_rows.h"

namespace ak::db {
namespace {

Connection prepared(const std::filesystem::path& file) {
  Connection connection(file, OpenMode::create);
  prepare_database(connection, file);
  return connection;
}

}  // namespace

ExchangeWriter::ExchangeWriter(const std::filesystem::path& file)
    : connection_(prepared(file)), transaction_(connection_) {}

RowId ExchangeWriter::put_definition(const Definition& definition, const std::string& problem,
                                     const Json& params) {
  return db::put_definition(connection_, definition, problem, params);
}

void ExchangeWriter::put_workload(RowId definition, const WorkloadRow& workload) {
  db::put_workload(connection_, definition, workload);
}

void ExchangeWriter::put_variant(RowId definition, const Candidate& candidate, const Json& params) {
  db::put_variant(connection_, definition, candidate, params);
}

}  // namespace ak::db
