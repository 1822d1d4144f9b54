// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "core/store.h"
#include "db/database.h"
#include "db/sqlite.h"
#include "tests/support/temporary_folder.h"

namespace ak::db::test {

using ak::testing::TemporaryFolder;

/// A new database of this program, open.
struct PreparedFile {
  PreparedFile();
  /// Rows of a table, with a condition perhaps: "searches WHERE id = 1".
  [[nodiscard]] std::int64_t count(const std::string& what);
  TemporaryFolder folder;
  Connection connection;
};

/// c = a + b in float32, workloads "small" (checked, N = 1,000) and "large" (checked and timed,
/// N = 1,000,000).
[[nodiscard]] ProblemInstance vector_add();
[[nodiscard]] DeviceFacts device();

/// A search with what its evaluations share.
struct Run {
  explicit Run(VariantStore& into, const DeviceFacts& on = device(), ProblemInstance of = vector_add());
  /// An evaluation of variant BLOCK = `block`, ended as `status`; checked, timed at `median_ns` where it is
  /// ok, and with the naive baseline at 2,000,000 ns.
  StoredEvaluation commit(int block, Status status = Status::ok, double median_ns = 1'000'000);
  StoredEvaluation commit(const EvaluationRequest& request, const EvaluationResult& result,
                          const std::string& arm = "random", const AskRecord* asked = nullptr);
  [[nodiscard]] EvaluationRequest request(int block) const;
  [[nodiscard]] static EvaluationResult result(Status status, double median_ns);

  VariantStore& store;
  std::shared_ptr<const ProblemInstance> problem;
  RowId search = 0;
  int iteration = 0;
};

/// The only cell of the query's answer.
[[nodiscard]] Cell cell(const std::filesystem::path& file, const std::string& sql);
[[nodiscard]] std::int64_t integer(const std::filesystem::path& file, const std::string& sql);
[[nodiscard]] double real(const std::filesystem::path& file, const std::string& sql);
[[nodiscard]] std::string text(const std::filesystem::path& file, const std::string& sql);
[[nodiscard]] bool is_null(const std::filesystem::path& file, const std::string& sql);

[[nodiscard]] std::int64_t version_of(const std::filesystem::path& file);
/// Statements that have no answer, without the store.
void execute(const std::filesystem::path& file, const std::string& sql);

/// integrity_check and foreign_key_check find nothing.
[[nodiscard]] bool intact(const std::filesystem::path& file);

}  // namespace ak::db::test
