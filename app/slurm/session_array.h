// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "app/slurm/batch_script.h"
#include "db/store/session.h"

namespace ak::app {

/// More jobs than clusters take in one array by default (Slurm's MaxArraySize is 1001).
inline constexpr int kMostArrayJobs = 1000;

/// What --array says: "8", or "8%2".
struct ArrayWish {
  int repeats = 1;  ///< of each manifest, which differ in their seeds
  int at_once = 0;  ///< as BatchArray
};
/// Throws Error(usage) saying what was expected.
[[nodiscard]] ArrayWish array_wish_from(std::string_view text);

/// Sessions that were started as the jobs of one array: session 1 of a database each, next to the database that they are
/// merged into. Numbers of jobs count from 1.
struct SessionArray {
  int number = 0;                ///< N, from 1
  std::filesystem::path folder;  ///< "<database>-array-N"
  int size = 0;

  [[nodiscard]] std::filesystem::path database(int job) const;
};

/// The arrays that were started with this database, oldest first.
[[nodiscard]] std::vector<SessionArray> arrays_of(const std::filesystem::path& database);
/// Where the next one will be, of so many jobs. Makes nothing.
[[nodiscard]] SessionArray next_array(const std::filesystem::path& database, int size);

/// A session as a job of an array: the number is part of its name, and its files are in a folder of that name.
/// @param repeat which of the sessions of its manifest it is, from 0, which is added to its seeds
[[nodiscard]] db::Session job_of_array(db::Session session, int job, std::int64_t repeat);
/// The folders that these sessions write to. Throws Error(output).
void make_output_folders(const std::vector<db::Session>& sessions);

/// Creates the sessions in their databases, and submits the array. Returns its number, of which "N_1", "N_2", ... are the
/// jobs. Throws Error(environment) where sbatch is missing, refuses, or says something else than a number: the sessions
/// are there then, as failed ones, and each can be resumed. Throws Error(output) where a folder or file cannot be made.
std::string submit_array(const SessionArray& sessions, const std::vector<db::Session>& jobs,
                         const BatchArray& array);

}  // namespace ak::app
