// SPDX-License-Identifier: Apache-2.0
#include "db/store/audit_rows.h"

#include "core/text/hash.h"
#include "db/rows.h"
#include "db/store/catalogue_rows.h"
#include "db/store/stored_values.h"
#include "db/utc.h"

namespace ak::db {
namespace {

void put_finding(Connection& connection, RowId audit, const AuditFinding& finding) {
  const RowId row = insert(connection, "audit_findings",
                           {{"audit_id", audit},
                            {"kind", to_string(finding.kind)},
                            {"mutation", finding.name},
                            {"tensor", finding.tensor},
                            {"verdict", to_string(finding.verdict)},
                            {"as_expected", finding.as_expected()},
                            {"checks", finding.checks},
                            {"rejections", finding.rejections},
                            {"message", finding.message}});
  if (const auto& check = finding.evidence)
    update(connection, "audit_findings", row,
           {{"workload", check->workload},
            {"distribution", check->distribution},
            {"input_seed", as_signed(check->seed)},
            {"max_error", finite(check->max_error)},
            {"mean_error", finite(check->mean_error)},
            {"tolerance", finite(check->tolerance)}});
}

}  // namespace

void put_audit(Connection& connection, const AuditRecord& record, const DeviceFacts& device,
               const Arch& arch) {
  const RowId audit = insert(connection, "audits",
                             {{"uid", random_uid()},
                              {"definition_id", put_definition(connection, *record.problem)},
                              {"device_id", put_device(connection, device)},
                              {"environment_id", put_environment(connection, device, record.version)},
                              {"arch", arch.sm()},
                              {"content_hash", record.content_hash},
                              {"passed", record.audit->passed()},
                              {"audited_at", utc_now()}});
  for (const AuditFinding& finding : record.audit->findings) put_finding(connection, audit, finding);
}

bool audit_passed(Connection& connection, const std::string& content_hash, const ProblemInstance& problem) {
  const auto passed =
      select_integer(connection,
                     "SELECT a.passed FROM audits a JOIN definitions d ON d.id = a.definition_id "
                     "WHERE a.content_hash = :content AND d.content_hash = :definition ORDER BY a.audited_at "
                     "DESC, a.id DESC LIMIT 1",
                     {{"content", content_hash}, {"definition", problem.definition.hash()}});
  return passed.value_or(0) != 0;
}

}  // namespace ak::db
