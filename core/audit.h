// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/evaluation.h"

namespace ak {

/// What the audit of a problem tries: the reference's twin, which must pass, and mistakes, made of its
/// results or declared by the problem, which must not; and the formulas of its work, which must agree with what the
/// reference does.
enum class AuditKind : std::uint8_t { honest, automatic, declared, formula };
enum class AuditVerdict : std::uint8_t { accepted, rejected, not_applicable, exempt };
[[nodiscard]] std::string_view to_string(AuditKind kind);  ///< stored by name, never renamed
[[nodiscard]] std::string_view to_string(AuditVerdict verdict);

struct AuditFinding {
  AuditKind kind = AuditKind::declared;
  std::string name;    ///< of the mutation; "honest"
  std::string what;    ///< it does, in words
  std::string tensor;  ///< output that was looked at, or input that was changed; empty: all outputs
  AuditVerdict verdict = AuditVerdict::not_applicable;
  int checks = 0, rejections = 0;       ///< comparisons made, and those that failed
  std::optional<CheckRecord> evidence;  ///< the comparison that failed most clearly, or came nearest to it
  std::string message = {};             ///< what the checks said, or why the mutation is exempt

  /// The checks did what they are for.
  [[nodiscard]] bool as_expected() const;
};

/// Of a problem under chosen params, on one device.
struct ProblemAudit {
  std::vector<AuditFinding> findings;

  [[nodiscard]] bool passed() const;             ///< the checks do what they are for
  [[nodiscard]] bool formulas_hold() const;      ///< those that were compared
  [[nodiscard]] bool formulas_compared() const;  ///< all of them were, and hold or are exempt
};

/// Error as a multiple of what is tolerated; infinite where nothing is.
[[nodiscard]] double error_ratio(const CheckRecord& record);

}  // namespace ak
