// SPDX-License-Identifier: Apache-2.0
#include "core/audit.h"

#include <algorithm>
#include <array>
#include <limits>

namespace ak {
namespace {

constexpr std::array<std::string_view, 4> kKinds{"honest", "automatic", "declared", "formula"};
constexpr std::array<std::string_view, 4> kVerdicts{"accepted", "rejected", "not_applicable", "exempt"};

}  // namespace

std::string_view to_string(AuditKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }
std::string_view to_string(AuditVerdict verdict) { return kVerdicts.at(static_cast<std::size_t>(verdict)); }

bool AuditFinding::as_expected() const {
  const bool must_pass = kind == AuditKind::honest || kind == AuditKind::formula;
  return verdict != (must_pass ? AuditVerdict::rejected : AuditVerdict::accepted);
}

bool ProblemAudit::passed() const {
  return std::ranges::all_of(findings, [](const AuditFinding& finding) {
    return finding.kind == AuditKind::formula || finding.as_expected();
  });
}

bool ProblemAudit::formulas_hold() const {
  return std::ranges::all_of(findings, [](const AuditFinding& finding) {
    return finding.kind != AuditKind::formula || finding.as_expected();
  });
}

bool ProblemAudit::formulas_compared() const {
  const auto is_formula = [](const AuditFinding& finding) { return finding.kind == AuditKind::formula; };
  return std::ranges::any_of(findings, is_formula) &&
         std::ranges::all_of(findings, [&](const AuditFinding& finding) {
           return !is_formula(finding) || finding.verdict == AuditVerdict::accepted ||
                  finding.verdict == AuditVerdict::exempt;
         });
}

double error_ratio(const CheckRecord& record) {
  if (record.max_error == 0 && record.nonfinite_mismatches == 0) return 0;
  const bool bounded = record.tolerance > 0 && record.nonfinite_mismatches == 0;
  return bounded ? record.max_error / record.tolerance : std::numeric_limits<double>::infinity();
}

}  // namespace ak
