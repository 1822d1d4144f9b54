// SPDX-License-Identifier: Apache-2.0
#include "app/baselines/drawn_integers.h"

#include <string>
#include <vector>

#include "core/error.h"
#include "core/plan/random_input.h"
#include "core/text/file.h"

namespace ak::app {
namespace {

constexpr std::uint64_t kSeed = 1;  // the values change nothing about the time but by their distribution

std::string drawn_bytes(const std::string& tensor, const ak_random::Draw& draw) {
  const std::vector<std::int64_t> values = random_integers(kSeed, tensor, draw);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t)};
}

}  // namespace

Json write_drawn_integers(const ProblemInstance& problem, const Workload& workload,
                          const std::filesystem::path& folder) {
  Json written = Json::object();
  const auto draws = problem.draws(*problem.distributions_of(workload).front(), workload.axes);
  if (!draws) fail(ExitCode::internal_error, "{}: {}", workload.name, draws.error().message);
  for (std::size_t i = 0; i < draws->size(); ++i) {
    const TensorSpec& tensor = problem.definition.inputs[i];
    if (tensor.is_scalar() || (tensor.dtype != DType::int32 && tensor.dtype != DType::int64)) continue;
    std::filesystem::create_directories(folder);
    write_file_atomically(folder / tensor.name, drawn_bytes(tensor.name, (*draws)[i]));
    written[tensor.name] = (folder / tensor.name).string();
  }
  return written;
}

}  // namespace ak::app
