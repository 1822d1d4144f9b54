// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fuzz_targets.h"

#include <array>

namespace ak::fuzz {

std::span<const FuzzTarget> fuzz_targets() {
  static constexpr std::array kTargets{FuzzTarget{"ptx", read_ptx},
                                       FuzzTarget{"ptx_run", execute_ptx},
                                       FuzzTarget{"candidate", read_candidate},
                                       FuzzTarget{"expression", read_expression},
                                       FuzzTarget{"definition", read_definition},
                                       FuzzTarget{"worker_message", read_worker_message},
                                       FuzzTarget{"json_rpc", read_json_rpc},
                                       FuzzTarget{"problem", read_problem_files},
                                       FuzzTarget{"measured_space", read_measured_points},
                                       FuzzTarget{"answer", read_answers},
                                       FuzzTarget{"dashboard_request", answer_dashboard_request},
                                       FuzzTarget{"quantity", read_quantities},
                                       FuzzTarget{"written_json", read_written_texts},
                                       FuzzTarget{"plan", read_plan},
                                       FuzzTarget{"provider_answer", read_provider_answers},
                                       FuzzTarget{"model_answer", read_model_answer},
                                       FuzzTarget{"mail", read_mail},
                                       FuzzTarget{"device_message", read_device_message},
                                       FuzzTarget{"stdio_request", read_stdio_request},
                                       FuzzTarget{"manifest", read_manifests},
                                       FuzzTarget{"settings", read_settings},
                                       FuzzTarget{"record", read_records},
                                       FuzzTarget{"data_set", read_data_set},
                                       FuzzTarget{"space_definition", read_space_definition},
                                       FuzzTarget{"build_result", read_build_result},
                                       FuzzTarget{"image", read_image},
                                       FuzzTarget{"tool_log", read_tool_log}};
  return kTargets;
}

}  // namespace ak::fuzz
