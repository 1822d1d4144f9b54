// SPDX-License-Identifier: Apache-2.0
#include "core/plan/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace ak {

bool Workload::has(WorkloadRole role) const { return std::ranges::find(roles, role) != roles.end(); }

const InputDraw& InputDistribution::draw_of(std::string_view tensor) const {
  const auto found = tensors.find(tensor);
  return found == tensors.end() ? draw : found->second;
}

std::vector<const InputDistribution*> ProblemInstance::distributions_of(const Workload& workload) const {
  std::vector<const InputDistribution*> chosen;
  for (const std::string& name : workload.distributions) {
    const auto found = std::ranges::find(distributions, name, &InputDistribution::name);
    AK_ASSERT(found != distributions.end(), "a workload names distributions of its problem");
    chosen.push_back(&*found);
  }
  if (!chosen.empty()) return chosen;
  for (const InputDistribution& each : distributions) chosen.push_back(&each);
  return chosen;
}

Result<std::vector<ak_random::Draw>> ProblemInstance::draws(const InputDistribution& distribution,
                                                            const AxisValues& sizes) const {
  const Environment names = environment(sizes);
  std::vector<ak_random::Draw> all;
  for (const TensorSpec& input : definition.inputs) {
    const auto draw = resolve_draw(distribution.draw_of(input.name), input.dtype,
                                   tensor_extents(definition, input, sizes), names);
    if (!draw)
      return InputError{fmt::format("distribution '{}', input '{}': {}", distribution.name, input.name,
                                    draw.error().message)};
    all.push_back(*draw);
  }
  return all;
}

Environment ProblemInstance::environment(const AxisValues& sizes) const {
  Environment environment(params.begin(), params.end());
  for (const Axis& axis : definition.axes) {
    if (axis.value) environment[axis.name] = *axis.value;
  }
  for (const auto& [name, size] : sizes) environment[name] = size;
  for (const auto* tensors : {&definition.inputs, &definition.outputs}) {
    for (const TensorSpec& tensor : *tensors)
      environment["sizeof_" + tensor.name] = std::int64_t{info(tensor.dtype).bytes};
  }
  return environment;
}

}  // namespace ak
