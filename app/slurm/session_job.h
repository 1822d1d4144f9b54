// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/slurm/batch_script.h"
#include "app/slurm/job_state.h"
#include "db/store/session.h"

namespace ak::app {

/// What a session keeps of its job, next to its database: the script, the number of the job, and while it runs the pool
/// file and the token of its workers. Only its owner can enter it.
[[nodiscard]] std::filesystem::path job_folder(const std::filesystem::path& database, RowId session);
/// A job of Slurm runs this session, or will.
[[nodiscard]] bool runs_in_slurm(const std::filesystem::path& database, RowId session);
/// The number of that job; nothing while it is not known.
[[nodiscard]] std::optional<std::string> known_job(const std::filesystem::path& database, RowId session);

/// Takes from the searches of a session the devices that they name, because the job's workers evaluate for them. Returns
/// of which kind these have to be. Throws Error(usage) naming the search that wants others.
[[nodiscard]] DeviceKind take_devices(db::Session& session);

/// Makes the folder of a session's job, its log and its script, which it can be submitted again with.
void prepare_job(const BatchJob& job);
/// Writes the script of a session and submits it. Returns the job's number. Throws Error(environment) where sbatch is
/// missing, refuses, or says something else than a number: then the session can be resumed.
std::string submit_session(const BatchJob& job);
/// One session has one job: throws Error(usage) while it is in the queue, and Error(environment) where that is not known.
void check_no_job(const std::filesystem::path& database, RowId session);
/// Submits the script that is there once more, as submit_session() does.
std::string submit_again(const std::filesystem::path& database, RowId session);

/// What sbatch says when it has taken a script: the job's number. Throws Error(environment) where it says nothing such.
[[nodiscard]] std::string submitted_number(const std::filesystem::path& script);
/// Notes the number of a session's job, unless that has done so itself. Returns which is noted now.
std::string note_job(const std::filesystem::path& folder, const std::string& job);

/// Of the session's job; nothing where Slurm does not run it.
[[nodiscard]] std::optional<JobState> job_state_of(const std::filesystem::path& database, RowId session);

/// Takes the job that has not begun the session out of the queue. Throws Error(environment) with scancel's reason.
void cancel_job(const std::string& job);

/// In a job: it is this session's. A job that begins before its number was noted notes it itself. Throws Error(usage)
/// where another job is the session's.
void claim_session(const std::filesystem::path& database, RowId session, const std::string& job);

}  // namespace ak::app
