// SPDX-License-Identifier: Apache-2.0
#include "core/plan/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace ak {
namespace {

/// Differs between distributions and, mostly, between shapes.
std::ptrdiff_t first_choice(const ProblemInstance& problem, const InputDistribution& distribution,
                            const AxisValues& sizes, const ak_random::Draw& draw) {
  const auto which = std::ranges::find(problem.distributions, distribution.name, &InputDistribution::name);
  std::int64_t sum = which - problem.distributions.begin();
  for (const auto& [name, size] : sizes) sum += size % draw.choice_count;
  return sum % draw.choice_count;
}

}  // namespace

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
    auto resolved = resolve_draw(distribution.draw_of(input.name), input.dtype,
                                 tensor_extents(definition, input, sizes), names);
    if (!resolved)
      return InputError{fmt::format("distribution '{}', input '{}': {}", distribution.name, input.name,
                                    resolved.error().message)};
    ak_random::Draw& draw = all.emplace_back(std::move(resolved).value());
    // A seed chooses one of a scalar's values: the next one under the next distribution, so that few
    // distributions try all of them.
    if (input.is_scalar())
      std::rotate(draw.choices, draw.choices + first_choice(*this, distribution, sizes, draw),
                  draw.choices + draw.choice_count);
  }
  return all;
}

Environment ProblemInstance::environment(const AxisValues& sizes) const {
  Environment environment(params.begin(), params.end());
  for (const auto& [name, size] : sizes) environment[name] = size;
  add_axes(definition, environment);
  for (const auto* tensors : {&definition.inputs, &definition.outputs}) {
    for (const TensorSpec& tensor : *tensors) {
      environment["sizeof_" + tensor.name] = std::int64_t{info(tensor.dtype).bytes};
      if (tensor.is_scalar()) environment["scalar_" + tensor.name] = std::string(info(tensor.dtype).name);
    }
  }
  return environment;
}

}  // namespace ak
