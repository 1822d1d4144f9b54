// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "codegen/export/export_parts.h"

namespace ak::codegen {
namespace {

/// Names that what prepares weights is computed from, lets followed to what they are made of.
class PreparedNames {
 public:
  explicit PreparedNames(const ExportSubject& subject) : subject_(subject), plan_(subject.candidate.plan) {
    for (const LaunchPlanEntry& launch : plan_.prepare) add(launch);
    for (const WorkspacePlan& space : plan_.workspace)
      if (space.prepared) add(space.count);
    for (const ExportedTensor* weight : subject.weights())
      for (const std::string& axis : *weight->spec->shape) add(axis);
  }

  [[nodiscard]] bool has(const std::string& name) const { return names_.contains(name); }

 private:
  void add(const std::string& name) {
    if (!names_.insert(name).second) return;
    for (const auto& [let, value] : plan_.let)
      if (let == name) add(value);
    for (const Axis* axis : subject_.derived)
      if (axis->name == name) add(*axis->derived);
  }
  void add(const Expression& expression) {
    for (const std::string& name : expression.names()) add(name);
  }
  void add(const std::vector<Expression>& list) {
    for (const Expression& one : list) add(one);
  }
  void add(const LaunchPlanEntry& launch) {
    for (const auto* list : {&launch.grid, &launch.block, &launch.cluster}) add(*list);
    if (launch.shared_bytes) add(*launch.shared_bytes);
    if (launch.when) add(*launch.when);
    if (launch.loop) add(launch.loop->low), add(launch.loop->high);
    for (const ArgumentPlan& argument : launch.arguments) add(argument);
  }
  void add(const ArgumentPlan& argument) {
    if (const auto* scalar = std::get_if<ScalarArgument>(&argument)) {
      if (const auto* value = std::get_if<Expression>(&scalar->value)) add(*value);
    } else if (const auto* named = std::get_if<NamedArgument>(&argument)) {
      const auto map = std::ranges::find(plan_.tensor_maps, named->name, &TensorMapPlan::name);
      if (map == plan_.tensor_maps.end()) return;
      for (const auto* list : {&map->dims, &map->strides_bytes, &map->box, &map->element_strides}) add(*list);
    }
  }

  const ExportSubject& subject_;
  const LaunchPlan& plan_;
  std::set<std::string> names_;
};

}  // namespace

std::vector<std::string> prepared_axes(const ExportSubject& subject) {
  const PreparedNames names(subject);
  std::vector<std::string> axes;
  for (const Axis* axis : subject.axes)
    if (names.has(axis->name)) axes.push_back(axis->name);
  return axes;
}

std::string prepared_axes_text(const ExportSubject& subject) {
  const std::vector<std::string> axes = prepared_axes(subject);
  std::string text = axes.empty() ? "no axis" : axes.front();
  for (std::size_t i = 1; i < axes.size(); ++i) text += (i + 1 == axes.size() ? " and " : ", ") + axes[i];
  return text;
}

}  // namespace ak::codegen
