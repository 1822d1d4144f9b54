// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "db/read/reader.h"

namespace ak::pages {

/// Gives the reader's SQL the tables of serve/pages/report/tables/, each a SELECT under the name of its file. Sections and
/// tables that come later read them. Needs `report_searches` and `device_limits`.
void keep_report_tables(db::Reader& reader);

}  // namespace ak::pages
