// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/store.h"
#include "db/sqlite.h"

namespace ak::db {

// Rows of `audits` and `audit_findings`. All throw SqliteError.

/// An audit with its findings; belongs into a transaction of the caller.
void put_audit(Connection& connection, const AuditRecord& record, const DeviceFacts& device,
               const Arch& arch);

/// The latest audit of this content under these params passed; false where there is none.
[[nodiscard]] bool audit_passed(Connection& connection, const std::string& content_hash,
                                const ProblemInstance& problem);

}  // namespace ak::db
