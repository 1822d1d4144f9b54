// SPDX-License-Identifier: Apache-2.0
#include "db/store/audit_rows.h"

#include <catch2/catch.hpp>
#include <limits>

#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

AuditFinding finding(const char* name, AuditVerdict verdict) {
  return {.kind = AuditKind::automatic,
          .name = name,
          .what = "",
          .tensor = "c",
          .verdict = verdict,
          .checks = 3,
          .evidence = {}};
}

TEST_CASE("a finding has its evidence where there is some") {
  PreparedFile file;
  const ProblemInstance problem = vector_add();
  CheckRecord check;
  check.workload = "small";
  check.distribution = "normal";
  check.seed = ~0ull;
  check.max_error = 0.5;
  check.mean_error = std::numeric_limits<double>::quiet_NaN();
  ProblemAudit audit;
  audit.findings = {finding("zeros", AuditVerdict::rejected), finding("ones", AuditVerdict::rejected)};
  audit.findings[1].evidence = check;
  put_audit(file.connection, {.problem = &problem, .content_hash = "abc", .version = "1", .audit = &audit},
            device(), {.major = 9, .minor = 0, .feature = 'a'});
  CHECK(file.count("audits WHERE passed = 1 AND arch = 'sm_90a' AND content_hash = 'abc'") == 1);
  CHECK(file.count("audit_findings WHERE mutation = 'zeros' AND workload IS NULL AND max_error IS NULL") ==
        1);
  CHECK(file.count(
            "audit_findings WHERE mutation = 'ones' AND workload = 'small' AND distribution = 'normal' AND "
            "input_seed = -1 AND max_error = 0.5 AND mean_error IS NULL AND checks = 3") == 1);
}

TEST_CASE("the latest audit decides, of the same content and definition") {
  PreparedFile file;
  const ProblemInstance problem = vector_add();
  ProblemAudit audit;
  const auto add = [&](AuditVerdict verdict) {
    audit.findings = {finding("zeros", verdict)};
    put_audit(file.connection, {.problem = &problem, .content_hash = "abc", .version = "1", .audit = &audit},
              device(), {.major = 9});
  };
  CHECK_FALSE(audit_passed(file.connection, "abc", problem));
  add(AuditVerdict::rejected);
  CHECK(audit_passed(file.connection, "abc", problem));
  CHECK_FALSE(audit_passed(file.connection, "other", problem));
  add(AuditVerdict::accepted);
  CHECK_FALSE(audit_passed(file.connection, "abc", problem));
  ProblemInstance other = vector_add();
  other.definition.name = "other";
  add(AuditVerdict::rejected);
  CHECK_FALSE(audit_passed(file.connection, "abc", other));
}

}  // namespace
}  // namespace ak::db::test
