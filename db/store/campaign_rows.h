// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "db/sqlite.h"
#include "db/store/campaign.h"

namespace ak::db {

// Rows of `campaigns` and `campaign_runs`. All throw SqliteError; what writes belongs into a transaction of the
// caller.

/// With its runs, all as queued.
RowId put_campaign(Connection& connection, const Campaign& campaign);

/// With its runs; nothing when there is none of this number.
[[nodiscard]] std::optional<Campaign> select_campaign(Connection& connection, RowId campaign);

/// What a run is given when it begins.
void begin_campaign_run(Connection& connection, const CampaignRun& run);
/// The figures of a run that goes on.
void update_stats(Connection& connection, RowId run, const CampaignStats& stats);
void end_campaign_run(Connection& connection, const CampaignRun& run);

}  // namespace ak::db
