// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/data_dump.h"

#include <algorithm>
#include <filesystem>

#include "core/text/file.h"
#include "runtime/check/data_set_builder.h"
#include "runtime/check/dump_files.h"

namespace ak::runtime {
namespace {

class Dump {
 public:
  Dump(const RunContext& run_context, const DataSet& data, std::string_view distribution,
       std::filesystem::path folder)
      : run_context_(run_context), data_(data), distribution_(distribution), folder_(std::move(folder)) {}

  [[nodiscard]] Json write() const {
    Json json{{"workload", data_.workload->name},
              {"distribution", distribution_},
              {"inputs", Json::array()},
              {"outputs", Json::array()}};
    for (const InputData& input : data_.inputs) {
      const BufferView memory = input.aliased ? input.pristine.view() : input.buffer.data();
      json["inputs"].push_back(
          write_tensor(input.tensor, memory, run_context_.problem.tensors[input.tensor].dtype));
    }
    for (const auto& [name, value] : data_.scalars) json["inputs"].push_back(scalar(name, value));
    for (const ReferenceData& reference : data_.references) {
      const auto exact = reference.exact.map();
      const DType declared = run_context_.problem.tensors[reference.tensor].dtype;
      const DType wide = info(declared).floating ? DType::float64 : DType::int64;
      const auto elements = static_cast<std::size_t>(data_.workload->elements(reference.tensor));
      Json tensor = write_tensor(reference.tensor, {exact.address(), elements * sizeof(double)}, wide);
      tensor["declared_dtype"] = info(declared).name;
      tensor["rms"] = reference.rms;
      tensor["tolerance"] = reference.bounds.element;
      json["outputs"].push_back(std::move(tensor));
    }
    return json;
  }

 private:
  [[nodiscard]] Json scalar(const std::string& name, double value) const {
    const auto& tensors = run_context_.problem.tensors;
    const auto layout = std::ranges::find(tensors, name, &TensorLayout::name);
    const DTypeInfo& type = info(layout->dtype);
    return {{"name", name},
            {"dtype", type.name},
            {"shape", nullptr},
            {"value", type.floating ? Json(value) : Json(static_cast<std::int64_t>(value))}};
  }
  [[nodiscard]] Json write_tensor(std::size_t tensor, BufferView memory, DType dtype) const {
    const std::string& name = run_context_.problem.tensors[tensor].name;
    const std::string file = dump_file(data_.workload->name, distribution_, name);
    std::string bytes(memory.bytes, '\0');
    check(driver().cuMemcpyDtoH(bytes.data(), memory.address, memory.bytes), "reading '{}'", name);
    write_file_atomically(folder_ / file, bytes);
    return {{"name", name},
            {"dtype", info(dtype).name},
            {"shape", data_.workload->shapes[tensor]},
            {"file", file}};
  }

  const RunContext& run_context_;
  const DataSet& data_;
  std::string distribution_;
  std::filesystem::path folder_;
};

/// Inputs of the caller's with what the references make of them, where the folder has a file for each.
Result<std::unique_ptr<DataSetBuilder>, Outcome> given_data_set(RunContext& run_context, DataStore& store,
                                                                const WorkloadLayout& workload,
                                                                const std::filesystem::path& folder,
                                                                std::uint64_t seed) {
  const std::string& drawn_as = workload.distributions.at(0).name;  // the first contents, replaced below
  auto builder = store.make_changing(workload, drawn_as);
  if (!builder) return builder.error();
  (*builder)->fill(seed);
  const auto data = (*builder)->data();
  for (std::size_t i = 0; i < data->inputs.size(); ++i) {
    const BufferView memory = data->inputs[i].buffer.data();
    const std::string& name = run_context.problem.tensors[data->inputs[i].tensor].name;
    (*builder)->put(i, read_file(folder / given_input_file(workload.name, name), memory.bytes));
  }
  if (auto failed = store.make_references(**builder)) return *failed;
  return builder;
}

bool has_given_inputs(const OpenProblem& problem, const WorkloadLayout& workload,
                      const std::filesystem::path& folder) {
  return std::ranges::all_of(problem.tensors, [&](const TensorLayout& tensor) {
    return tensor.output || std::filesystem::exists(folder / given_input_file(workload.name, tensor.name));
  });
}

}  // namespace

std::optional<Outcome> dump_data_sets(RunContext& run_context, DataStore& store, const DeviceTask& task) {
  const std::filesystem::path folder = task.dump_dir;
  Json index{{"problem", run_context.problem.problem},
             {"params", run_context.problem.params},
             {"seed", task.seed},
             {"data_sets", Json::array()}};
  for (const WorkloadTask& one : task.workloads) {
    for (const std::string& distribution : one.distributions) {
      const auto data = store.get(run_context.problem.workload(one.workload), distribution, task.seed);
      if (!data) return data.error();
      run_context.synchronize("the making of inputs");
      index["data_sets"].push_back(Dump(run_context, **data, (*data)->distribution, folder).write());
    }
    const WorkloadLayout& workload = run_context.problem.workload(one.workload);
    if (!has_given_inputs(run_context.problem, workload, folder)) continue;
    const auto given = given_data_set(run_context, store, workload, folder, task.seed);
    if (!given) return given.error();
    index["data_sets"].push_back(Dump(run_context, *(*given)->data(), kGivenInputs, folder).write());
  }
  write_file_atomically(folder / "index.json", index.dump(1) + "\n");
  return std::nullopt;
}

}  // namespace ak::runtime
