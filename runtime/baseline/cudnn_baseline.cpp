// SPDX-License-Identifier: Apache-2.0
#include "runtime/baseline/cudnn_baseline.h"

#if __has_include(<cudnn_graph.h>)

#include <algorithm>

#include "runtime/baseline/cudnn_attention.h"

namespace ak::runtime {
namespace {

// The library's order is a guess; its best is rarely further down (chosen). Every plan may take it
// seconds to compile.
constexpr std::size_t kPlans = 4;
constexpr cudnnBackendHeurMode_t kModes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK};

/// An engine's way to compute a graph, compiled for the device.
struct Plan {
  CudnnDescriptor config, plan;  ///< in the order in which they are made
  std::size_t workspace_bytes;
};

Plan make_plan(CudnnDescriptor config, cudnnHandle_t handle) {
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "a plan");
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config).finalize();
  const std::int64_t bytes = plan.get_int(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  return {.config = std::move(config),
          .plan = std::move(plan),
          .workspace_bytes = static_cast<std::size_t>(bytes)};
}

std::vector<CudnnDescriptor> propose(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "the choice of engines");
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, mode)
      .finalize();
  return heuristics.get_all(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                            "an engine's configuration");
}

/// A graph, its plans and the memory they work in.
class AttentionPlans {
 public:
  AttentionPlans(const AttentionTask& task, cudnnHandle_t handle)
      : handle_(handle), attention_(task), graph_(attention_.graph(handle)) {
    for (const cudnnBackendHeurMode_t mode : kModes) {
      add_plans(mode);
      if (!plans_.empty()) break;
    }
    std::size_t bytes = 0;
    for (const Plan& plan : plans_) bytes = std::max(bytes, plan.workspace_bytes);
    workspace_ = DeviceBuffer(bytes, "cuDNN's workspace");
  }

  [[nodiscard]] std::size_t count() const { return plans_.size(); }
  /// Why there is no plan: what the library said first.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  /// Throws CudnnError.
  void run(std::size_t plan, const AddressTable& addresses, CUstream stream) const {
    expect_cudnn(cudnn().cudnnSetStream(handle_, stream), "choosing the stream");
    const CudnnDescriptor pack = attention_.variant_pack(addresses, workspace_.address());
    expect_cudnn(cudnn().cudnnBackendExecute(handle_, plans_[plan].plan.get(), pack.get()),
                 "running the plan");
  }

 private:
  void add_plans(cudnnBackendHeurMode_t mode) try {
    for (CudnnDescriptor& config : propose(graph_, mode)) {
      if (plans_.size() == kPlans) return;
      try {
        plans_.push_back(make_plan(std::move(config), handle_));
      } catch (const CudnnError& error) {
        note(error);
      }
    }
  } catch (const CudnnError& error) {
    note(error);
  }
  void note(const CudnnError& error) {
    if (std::exchange(refused_, true)) return;
    refusal_ = error.what();
  }

  cudnnHandle_t handle_;
  CudnnAttention attention_;
  CudnnDescriptor graph_;
  std::vector<Plan> plans_;
  bool refused_ = false;
  std::string refusal_ = "it proposes no engine";
  DeviceBuffer workspace_;
};

class AttentionCall final : public LibraryCall {
 public:
  AttentionCall(std::shared_ptr<const AttentionPlans> plans, std::size_t plan)
      : name_(fmt::format("cudnnBackendExecute, plan {}", plan + 1)), plans_(std::move(plans)), plan_(plan) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::optional<Outcome> enqueue(const AddressTable& addresses, CUstream stream) const override
      try {
    plans_->run(plan_, addresses, stream);
    return std::nullopt;
  } catch (const CudnnError& error) {
    return Outcome{.status = Status::launch_error,
                   .stage = StageId::time,
                   .message = fmt::format("{}: {}", name_, error.what()),
                   .diagnostics = {}};
  }

 private:
  std::string name_;
  std::shared_ptr<const AttentionPlans> plans_;
  std::size_t plan_;
};

class CudnnBaseline final : public LibraryBaseline {
 public:
  /// Throws CudnnError.
  CudnnBaseline() {
    cudnnHandle_t handle = nullptr;
    expect_cudnn(cudnn().cudnnCreate(&handle), "starting cuDNN");
    handle_.reset(handle);
    // Major, minor and patch level in decimal (cudnn_version.h, CUDNN_VERSION).
    const std::size_t version = cudnn().cudnnGetVersion();
    label_ = fmt::format("cudnn {}.{}.{}", version / 10'000, version / 100 % 100, version % 100);
  }

  [[nodiscard]] const std::string& label() const override { return label_; }

  [[nodiscard]] Result<std::vector<std::unique_ptr<const LibraryCall>>> calls(
      const OpenProblem& problem, const WorkloadLayout& workload) override try {
    const auto task = attention_task(problem, workload);
    if (!task) return task.error();
    if (task->dtype != DType::float16 && task->dtype != DType::bfloat16)
      return InputError{fmt::format("no attention over {}", info(task->dtype).name)};
    const auto plans = std::make_shared<const AttentionPlans>(*task, handle_.get());
    if (plans->count() == 0)
      return InputError{fmt::format("it has no plan for this attention ({})", plans->refusal())};
    std::vector<std::unique_ptr<const LibraryCall>> calls;
    for (std::size_t i = 0; i < plans->count(); ++i)
      calls.push_back(std::make_unique<AttentionCall>(plans, i));
    return calls;
  } catch (const CudnnError& error) {
    return InputError{error.what()};
  }

 private:
  CudnnHandle handle_;
  std::string label_;
};

}  // namespace

Result<std::unique_ptr<LibraryBaseline>> open_cudnn() try {
  if (!loaded_cudnn()) return loaded_cudnn().error();
  return std::unique_ptr<LibraryBaseline>(std::make_unique<CudnnBaseline>());
} catch (const CudnnError& error) {
  return InputError{error.what()};
}

}  // namespace ak::runtime

#else

namespace ak::runtime {

Result<std::unique_ptr<LibraryBaseline>> open_cudnn() {
  return InputError{"this program was built without cudnn_graph.h (cuDNN 9's headers)"};
}

}  // namespace ak::runtime

#endif
