// SPDX-License-Identifier: Apache-2.0
#include "core/plan/work.h"

#include <fmt/format.h>

#include <utility>

namespace ak {

Result<Work> work_of(const ProblemInstance& problem, const Workload& workload) {
  const Environment environment = problem.environment(workload.axes);
  double flops = 0, read = 0, written = 0;
  for (const auto& [formula, amount] :
       {std::pair(&problem.flops, &flops), std::pair(&problem.bytes_read, &read),
        std::pair(&problem.bytes_written, &written)}) {
    const Result<std::int64_t> value = formula->evaluate_integer(environment);
    if (!value) return InputError{fmt::format("formula '{}': {}", formula->text(), value.error().message)};
    *amount = static_cast<double>(*value);
  }
  return Work{.flops = flops, .bytes = read + written, .bytes_written = written};
}

}  // namespace ak
