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
                                       FuzzTarget{"written_json", read_written_texts}};
  return kTargets;
}

}  // namespace ak::fuzz
