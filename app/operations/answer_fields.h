// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "app/operations/operation.h"

namespace ak::operations {

// What the operations answer, one function for each form.
[[nodiscard]] std::vector<Field> list_problems_fields();
[[nodiscard]] std::vector<Field> show_problem_fields();
[[nodiscard]] std::vector<Field> new_problem_fields();
[[nodiscard]] std::vector<Field> run_reference_fields();
[[nodiscard]] std::vector<Field> show_devices_fields();
[[nodiscard]] std::vector<Field> evaluate_fields();
[[nodiscard]] std::vector<Field> search_fields();
[[nodiscard]] std::vector<Field> time_baselines_fields();
[[nodiscard]] std::vector<Field> profile_fields();
[[nodiscard]] std::vector<Field> predict_fields();
[[nodiscard]] std::vector<Field> occupancy_fields();
[[nodiscard]] std::vector<Field> rows_fields();
[[nodiscard]] std::vector<Field> start_session_fields();
[[nodiscard]] std::vector<Field> session_fields();
[[nodiscard]] std::vector<Field> explain_fields();
[[nodiscard]] std::vector<Field> compare_fields();
[[nodiscard]] std::vector<Field> compare_subjects_fields();
[[nodiscard]] std::vector<Field> list_experiments_fields();
[[nodiscard]] std::vector<Field> list_insights_fields();
[[nodiscard]] std::vector<Field> look_up_best_fields();
[[nodiscard]] std::vector<Field> examine_machine_fields();
[[nodiscard]] std::vector<Field> export_kernel_fields();
[[nodiscard]] std::vector<Field> explain_failure_fields();
[[nodiscard]] std::vector<Field> show_kernel_fields();
[[nodiscard]] std::vector<Field> save_kernel_fields();

}  // namespace ak::operations
