// SPDX-License-Identifier: Apache-2.0
#include "runtime/baseline/cublaslt_baseline.h"

#if __has_include(<cublasLt.h>)

#include <cublasLt.h>
#include <dlfcn.h>

#include <array>

#include "runtime/baseline/matmul_task.h"

// clang-format off
#define AK_CUBLASLT_FUNCTIONS(X)                                                                   \
  X(cublasLtGetVersion) X(cublasLtGetStatusString) X(cublasLtCreate) X(cublasLtDestroy)            \
  X(cublasLtMatmulDescCreate) X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutDestroy) X(cublasLtMatmulPreferenceCreate)   \
  X(cublasLtMatmulPreferenceDestroy) X(cublasLtMatmulPreferenceSetAttribute)                       \
  X(cublasLtMatmulAlgoGetHeuristic) X(cublasLtMatmul)
// clang-format on

namespace ak::runtime {
namespace {

struct CublasLt {
#define AK_CUBLASLT_MEMBER(name) decltype(&::name) name = nullptr;
  AK_CUBLASLT_FUNCTIONS(AK_CUBLASLT_MEMBER)
#undef AK_CUBLASLT_MEMBER
};

Result<CublasLt> load_cublaslt() {
  const auto library = load_vendor_library({"libcublasLt.so.13", "libcublasLt.so.12"});
  if (!library) return library.error();
  CublasLt table;
#define AK_CUBLASLT_FIND(name)                                              \
  table.name = reinterpret_cast<decltype(&::name)>(dlsym(*library, #name)); \
  if (table.name == nullptr) return InputError{"the cuBLASLt found lacks " #name};
  AK_CUBLASLT_FUNCTIONS(AK_CUBLASLT_FIND)
#undef AK_CUBLASLT_FIND
  return table;
}

const Result<CublasLt>& loaded() {
  static const Result<CublasLt> library = load_cublaslt();
  return library;
}
const CublasLt& lt() { return loaded().value(); }

void destroy(cublasLtHandle_t handle) noexcept { static_cast<void>(lt().cublasLtDestroy(handle)); }
void destroy_desc(cublasLtMatmulDesc_t desc) noexcept {
  static_cast<void>(lt().cublasLtMatmulDescDestroy(desc));
}
void destroy_layout(cublasLtMatrixLayout_t layout) noexcept {
  static_cast<void>(lt().cublasLtMatrixLayoutDestroy(layout));
}
void destroy_preference(cublasLtMatmulPreference_t preference) noexcept {
  static_cast<void>(lt().cublasLtMatmulPreferenceDestroy(preference));
}
using Handle = UniqueHandle<cublasLtHandle_t, destroy>;
using Desc = UniqueHandle<cublasLtMatmulDesc_t, destroy_desc>;
using Layout = UniqueHandle<cublasLtMatrixLayout_t, destroy_layout>;
using Preference = UniqueHandle<cublasLtMatmulPreference_t, destroy_preference>;

/// A setup call failed: with arguments of our own making that is the library's or the environment's fault.
void expect(cublasStatus_t status, std::string_view activity) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(ExitCode::environment, "cuBLASLt, {}: {}", activity, lt().cublasLtGetStatusString(status));
}

// What the library recommends for Hopper (cuBLAS documentation, cublasSetWorkspace).
constexpr std::size_t kWorkspaceBytes = 32u << 20;
// The library's order is a guess; its best is rarely further down (chosen).
constexpr int kProposals = 8;

struct Types {
  DType input, output;
  cudaDataType_t a, c;
  cublasComputeType_t compute;
  cudaDataType_t scale;
};
constexpr Types kTypes[] = {
    {DType::float16, DType::float16, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    {DType::bfloat16, DType::bfloat16, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    {DType::float16, DType::float32, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    {DType::bfloat16, DType::float32, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    {DType::float32, DType::float32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    {DType::float64, DType::float64, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F},
    {DType::int8, DType::int32, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I},
};

Result<Types> types_of(const MatmulTask& task) {
  for (const Types& types : kTypes) {
    if (types.input != task.input || types.output != task.output) continue;
    Types found = types;
    if (task.tf32 && task.input == DType::float32) found.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    return found;
  }
  return InputError{
      fmt::format("no product of {} matrices into {}", info(task.input).name, info(task.output).name)};
}

// The library's GELU is the tanh approximation, which is another function than the exact one.
Result<cublasLtEpilogue_t> epilogue_of(const MatmulTask& task) {
  if (task.activation == "none") return task.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (task.activation == "relu") return task.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  if (task.activation == "gelu_tanh") return task.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  return InputError{
      fmt::format("it has no epilogue for the activation {} (only none, relu and the tanh form of gelu)",
                  task.activation)};
}

template <class T>
void set(const Desc& desc, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  expect(lt().cublasLtMatmulDescSetAttribute(desc.get(), attribute, &value, sizeof value),
         "describing the product");
}

/// Of a matrix that lies in memory with `rows` contiguous elements a column.
Layout make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  expect(lt().cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(columns), rows),
         "describing a matrix");
  return Layout(layout);
}

Preference make_preference() {
  cublasLtMatmulPreference_t made = nullptr;
  expect(lt().cublasLtMatmulPreferenceCreate(&made), "making a preference");
  Preference preference(made);
  expect(lt().cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                   &kWorkspaceBytes, sizeof kWorkspaceBytes),
         "setting the size of workspace");
  return preference;
}

/// One product, however it is computed. The library counts by columns, so it is asked for the transpose of
/// the row-major result, which is the product of the transposes in the other order.
struct Product {
  Desc desc;
  Layout b, a, c;
  cudaDataType_t scale = CUDA_R_32F;
  bool bias = false;

  [[nodiscard]] cublasStatus_t run(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm,
                                   const AddressTable& addresses, const DeviceBuffer& workspace,
                                   CUstream stream) const {
    const auto pointer = [&](std::string_view name) {
      return reinterpret_cast<void*>(addresses.find(name)->second.address);
    };
    if (bias) set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointer("bias"));
    const Scalars& scalars = scale == CUDA_R_64F ? kDouble : scale == CUDA_R_32I ? kInteger : kFloat;
    return lt().cublasLtMatmul(handle, desc.get(), scalars.one, pointer("b"), b.get(), pointer("a"), a.get(),
                               scalars.zero, pointer("c"), c.get(), pointer("c"), c.get(), &algorithm,
                               reinterpret_cast<void*>(workspace.address()), workspace.bytes(), stream);
  }

 private:
  struct Scalars {
    const void *one, *zero;
  };
  static constexpr float kFloats[] = {1, 0};
  static constexpr double kDoubles[] = {1, 0};
  static constexpr std::int32_t kIntegers[] = {1, 0};
  static constexpr Scalars kFloat{&kFloats[0], &kFloats[1]}, kDouble{&kDoubles[0], &kDoubles[1]},
      kInteger{&kIntegers[0], &kIntegers[1]};
};

Product make_product(const MatmulTask& task, const Types& types, cublasLtEpilogue_t epilogue) {
  cublasLtMatmulDesc_t made = nullptr;
  expect(lt().cublasLtMatmulDescCreate(&made, types.compute, types.scale), "describing the product");
  Product product{
      .desc = Desc(made),
      .b = task.b_by_columns ? make_layout(types.a, task.k, task.n) : make_layout(types.a, task.n, task.k),
      .a = task.a_by_columns ? make_layout(types.a, task.m, task.k) : make_layout(types.a, task.k, task.m),
      .c = make_layout(types.c, task.n, task.m),
      .scale = types.scale,
      .bias = task.bias};
  set(product.desc, CUBLASLT_MATMUL_DESC_TRANSA, task.b_by_columns ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(product.desc, CUBLASLT_MATMUL_DESC_TRANSB, task.a_by_columns ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(product.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (task.bias) {
    set(product.desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, types.a);
    // The search for algorithms looks at the pointer's alignment only.
    set(product.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<void*>(kBufferAlignment));
  }
  return product;
}

class MatmulCall final : public LibraryCall {
 public:
  MatmulCall(std::string name, std::shared_ptr<const Product> product, const cublasLtMatmulAlgo_t& algorithm,
             cublasLtHandle_t handle, const DeviceBuffer& workspace)
      : name_(std::move(name)),
        product_(std::move(product)),
        algorithm_(algorithm),
        handle_(handle),
        workspace_(workspace) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::optional<Outcome> enqueue(const AddressTable& addresses,
                                               CUstream stream) const override {
    const cublasStatus_t status = product_->run(handle_, algorithm_, addresses, workspace_, stream);
    if (status == CUBLAS_STATUS_SUCCESS) return std::nullopt;
    return Outcome{.status = Status::launch_error,
                   .stage = StageId::time,
                   .message = fmt::format("{}: {}", name_, lt().cublasLtGetStatusString(status)),
                   .diagnostics = {}};
  }

 private:
  std::string name_;
  std::shared_ptr<const Product> product_;
  cublasLtMatmulAlgo_t algorithm_;
  cublasLtHandle_t handle_;
  const DeviceBuffer& workspace_;
};

class CublasLtBaseline final : public LibraryBaseline {
 public:
  /// @param proposals so many at most
  CublasLtBaseline(const char* name, int proposals)
      : workspace_(kWorkspaceBytes, "cuBLASLt's workspace"), proposals_(proposals) {
    cublasLtHandle_t handle = nullptr;
    expect(lt().cublasLtCreate(&handle), "starting the library");
    handle_.reset(handle);
    // Major, minor and patch level in decimal (cublas_api.h, CUBLAS_VERSION).
    const std::size_t version = lt().cublasLtGetVersion();
    label_ = fmt::format("{} {}.{}.{}", name, version / 10'000, version / 100 % 100, version % 100);
  }

  [[nodiscard]] const std::string& label() const override { return label_; }

  [[nodiscard]] Result<std::vector<std::unique_ptr<const LibraryCall>>> calls(
      const OpenProblem& problem, const WorkloadLayout& workload) override {
    const auto task = matmul_task(problem, workload);
    if (!task) return task.error();
    const auto types = types_of(*task);
    if (!types) return types.error();
    const auto epilogue = epilogue_of(*task);
    if (!epilogue) return epilogue.error();
    return proposals(std::make_shared<const Product>(make_product(*task, *types, *epilogue)));
  }

 private:
  Result<std::vector<std::unique_ptr<const LibraryCall>>> proposals(
      const std::shared_ptr<const Product>& product) {
    const Preference preference = make_preference();
    std::array<cublasLtMatmulHeuristicResult_t, kProposals> found{};
    int count = 0;
    const cublasStatus_t status = lt().cublasLtMatmulAlgoGetHeuristic(
        handle_.get(), product->desc.get(), product->b.get(), product->a.get(), product->c.get(),
        product->c.get(), preference.get(), proposals_, found.data(), &count);
    if (status != CUBLAS_STATUS_SUCCESS || count == 0)
      return InputError{
          fmt::format("it has no algorithm for this product ({})", lt().cublasLtGetStatusString(status))};
    std::vector<std::unique_ptr<const LibraryCall>> calls;
    for (int i = 0; i < count; ++i) {
      const auto& one = found[static_cast<std::size_t>(i)];
      if (one.state != CUBLAS_STATUS_SUCCESS) continue;
      calls.push_back(std::make_unique<MatmulCall>(fmt::format("cublasLtMatmul, algorithm {}", i + 1),
                                                   product, one.algo, handle_.get(), workspace_));
    }
    return calls;
  }

  DeviceBuffer workspace_;
  int proposals_;
  Handle handle_;
  std::string label_;
};

}  // namespace

Result<std::unique_ptr<LibraryBaseline>> open_cublaslt() {
  if (!loaded()) return loaded().error();
  return std::unique_ptr<LibraryBaseline>(std::make_unique<CublasLtBaseline>("cublaslt", kProposals));
}

Result<std::unique_ptr<LibraryBaseline>> open_cublaslt_first() {
  if (!loaded()) return loaded().error();
  return std::unique_ptr<LibraryBaseline>(std::make_unique<CublasLtBaseline>("cublaslt_first", 1));
}

}  // namespace ak::runtime

#else

namespace ak::runtime {

Result<std::unique_ptr<LibraryBaseline>> open_cublaslt() {
  return InputError{"this program was built without cublasLt.h (package libcublas-dev of the CUDA toolkit)"};
}

}  // namespace ak::runtime

#endif
