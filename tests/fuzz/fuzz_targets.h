// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace ak::fuzz {

/// A reader of text that others wrote: language models, users, workers, clients. It returns whatever the bytes
/// are, and keeps the properties that it asserts; all else that should not happen is for sanitizers to see.
struct FuzzTarget {
  std::string_view name;  ///< that of its folder in corpus/, too
  void (*run)(std::string_view input);
};

void read_ptx(std::string_view input);
void execute_ptx(std::string_view input);
void read_candidate(std::string_view input);
void read_expression(std::string_view input);
void read_definition(std::string_view input);
void read_worker_message(std::string_view input);
void read_json_rpc(std::string_view input);
void read_problem_files(std::string_view input);
void read_measured_points(std::string_view input);
void read_answers(std::string_view input);
void answer_dashboard_request(std::string_view input);
void read_quantities(std::string_view input);
void read_written_texts(std::string_view input);
void read_plan(std::string_view input);
void read_provider_answers(std::string_view input);
void read_model_answer(std::string_view input);
void read_mail(std::string_view input);
void read_device_message(std::string_view input);
void read_stdio_request(std::string_view input);
void read_manifests(std::string_view input);
void read_settings(std::string_view input);
void read_records(std::string_view input);
void read_data_set(std::string_view input);
void read_space_definition(std::string_view input);
void read_build_result(std::string_view input);
void read_image(std::string_view input);
void read_tool_log(std::string_view input);

[[nodiscard]] std::span<const FuzzTarget> fuzz_targets();

}  // namespace ak::fuzz
