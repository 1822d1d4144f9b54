// SPDX-License-Identifier: Apache-2.0
#include "app/problem/rehearsal.h"

#include <algorithm>

#include "core/text/hash.h"

namespace ak::app {
namespace {

std::vector<const TensorSpec*> tensors_of(const Definition& definition) {
  std::vector<const TensorSpec*> tensors;
  for (const auto* list : {&definition.inputs, &definition.outputs})
    for (const TensorSpec& tensor : *list) tensors.push_back(&tensor);
  return tensors;
}

double elements_of(const Definition& definition, const Workload& workload) {
  double elements = 0;
  for (const TensorSpec* tensor : tensors_of(definition)) {
    double product = 1;
    for (const std::int64_t extent : tensor_extents(definition, *tensor, workload.axes))
      product *= static_cast<double>(extent);
    elements += product;
  }
  return elements;
}

/// What the module `rehearsal` of the reference process takes.
Json request_for(const ProblemInstance& problem, const Workload& workload) {
  Json tensors = Json::array(), shapes = Json::array(), scalars = Json::object(), axes = Json::object();
  for (const TensorSpec* tensor : tensors_of(problem.definition)) {
    const bool output = std::ranges::find(problem.definition.outputs, tensor->name, &TensorSpec::name) !=
                        problem.definition.outputs.end();
    tensors.push_back({{"name", tensor->name},
                       {"dtype", info(tensor->dtype).name},
                       {"output", output},
                       {"scalar", tensor->is_scalar()}});
    shapes.push_back(tensor_extents(problem.definition, *tensor, workload.axes));
    if (tensor->is_scalar()) scalars[tensor->name] = tensor->values.front();
  }
  const Environment sizes = problem.environment(workload.axes);
  for (const Axis& axis : problem.definition.axes)
    axes[axis.name] = std::get<std::int64_t>(sizes.at(axis.name));
  const PythonReference& reference = *problem.python;
  return {{"do", "rehearse"},
          {"file", reference.file},
          {"source_hash", sha256_hex(reference.source)},
          {"kind", reference.kind},
          {"options", reference.options},
          {"tensors", tensors},
          {"shapes", shapes},
          {"axes", axes},
          {"scalars", scalars}};
}

}  // namespace

std::string rehearse(const ProblemInstance& problem, runtime::ReferenceLaunch launch,
                     std::chrono::milliseconds limit) {
  launch.entry = "rehearsal";
  launch.readable.push_back(problem.folder.string());
  const auto smallest = std::ranges::min_element(problem.workloads, {}, [&](const Workload& workload) {
    return elements_of(problem.definition, workload);
  });
  runtime::ReferenceProcess process(launch);
  const auto answer = process.ask(request_for(problem, *smallest), limit);
  return answer ? "" : fmt::format("workload {}: {}", smallest->name, answer.error().message);
}

}  // namespace ak::app
