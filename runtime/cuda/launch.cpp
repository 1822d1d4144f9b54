// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/launch.h"

#include <algorithm>
#include <cstring>

#include "runtime/cuda/module_variables.h"
#include "runtime/cuda/tensor_map.h"

namespace ak::runtime {
namespace {

using Argument = std::array<std::byte, 128>;
static_assert(sizeof(CUtensorMap) <= sizeof(Argument));

struct ArgumentBytes {
  Argument bytes{};
  std::size_t size = 0;
  std::string what;  ///< for messages
};

template <class T>
ArgumentBytes pack(const T& value, std::string what) {
  ArgumentBytes packed{.bytes = {}, .size = sizeof value, .what = std::move(what)};
  std::memcpy(packed.bytes.data(), &value, sizeof value);
  return packed;
}

Outcome candidate_fault(Gate gate, Status status, std::string message) {
  return {.status = status,
          .stage = StageId::check,
          .message = std::move(message),
          .diagnostics = {},
          .gate = gate};
}

ArgumentBytes pack_scalar(const ResolvedScalar& scalar) {
  const std::string what(to_string(scalar.type));
  switch (scalar.type) {
    case ScalarType::i32:
      return pack(static_cast<std::int32_t>(scalar.integer), what);
    case ScalarType::i64:
      return pack(scalar.integer, what);
    case ScalarType::f32:
      return pack(static_cast<float>(scalar.real), what);
    case ScalarType::f64:
      return pack(scalar.real, what);
    case ScalarType::boolean:
      return pack(scalar.integer != 0, what);
  }
  AK_ASSERT(false, "every scalar type has a case");
  return {};
}

ArgumentBytes pack_input(const ResolvedScalarInput& input, double value) {
  ResolvedScalar scalar{.type = input.type};
  if (is_floating(input.type))
    scalar.real = value;
  else
    scalar.integer = static_cast<std::int64_t>(value);
  ArgumentBytes packed = pack_scalar(scalar);
  packed.what = fmt::format("scalar '{}' ({})", input.name, packed.what);
  return packed;
}

class Binder {
 public:
  Binder(const ResolvedPlan& plan, const AddressTable& addresses) : plan_(plan), addresses_(addresses) {}

  Result<ArgumentBytes, Outcome> bind(const ResolvedArgument& argument) const {
    if (const auto* scalar = std::get_if<ResolvedScalar>(&argument)) return pack_scalar(*scalar);
    if (const auto* map = std::get_if<ResolvedTensorMapReference>(&argument)) return bind_map(map->name);
    if (const auto* input = std::get_if<ResolvedScalarInput>(&argument)) return pack_input(*input, 0);
    const std::string& name = std::get<ResolvedPointer>(argument).name;
    if (name.empty()) return pack(std::uint64_t{0}, "null pointer");
    const auto found = addresses_.find(name);
    if (found == addresses_.end()) {
      return candidate_fault(Gate::argument_types, Status::invalid_candidate,
                             fmt::format("the plan passes '{}', which is not a tensor or workspace", name));
    }
    return pack(found->second.address, fmt::format("pointer '{}'", name));
  }

 private:
  Result<ArgumentBytes, Outcome> bind_map(const std::string& name) const {
    for (const ResolvedTensorMap& map : plan_.tensor_maps) {
      if (map.name != name) continue;
      const auto found = addresses_.find(map.tensor);
      if (found == addresses_.end()) {
        return candidate_fault(
            Gate::argument_types, Status::invalid_candidate,
            fmt::format("tensor map '{}' describes '{}', which is not a tensor or workspace", name,
                        map.tensor));
      }
      const auto encoded = encode_tensor_map(map, found->second);
      if (!encoded)
        return candidate_fault(Gate::plan_bounds, Status::invalid_candidate, encoded.error().message);
      return pack(encoded.value(), fmt::format("tensor map '{}'", name));
    }
    return candidate_fault(Gate::argument_types, Status::invalid_candidate,
                           fmt::format("the plan declares no tensor map '{}'", name));
  }

  const ResolvedPlan& plan_;
  const AddressTable& addresses_;
};

std::vector<std::size_t> parameter_sizes(CUfunction function) {
  std::vector<std::size_t> sizes;
  std::size_t offset = 0, size = 0;
  while (driver().cuFuncGetParamInfo(function, sizes.size(), &offset, &size) == CUDA_SUCCESS)
    sizes.push_back(size);
  return sizes;
}

std::optional<Outcome> check_arguments(const std::string& kernel, CUfunction function,
                                       const std::vector<ArgumentBytes>& arguments) {
  const std::vector<std::size_t> sizes = parameter_sizes(function);
  if (sizes.size() != arguments.size()) {
    return candidate_fault(Gate::argument_types, Status::invalid_candidate,
                           fmt::format("{} has {} parameters, but the plan passes {} arguments", kernel,
                                       sizes.size(), arguments.size()));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == arguments[i].size) continue;
    return candidate_fault(Gate::argument_types, Status::invalid_candidate,
                           fmt::format("{}: argument {} is {} of {} bytes, but the parameter has {} bytes",
                                       kernel, i, arguments[i].what, arguments[i].size, sizes[i]));
  }
  return std::nullopt;
}

int function_attribute(CUfunction function, CUfunction_attribute which, const std::string& kernel) {
  int value = 0;
  check(driver().cuFuncGetAttribute(&value, which, function), "asking for attribute {} of {}",
        static_cast<int>(which), kernel);
  return value;
}

// Dynamic shared memory beyond this needs the opt-in attribute (CUDA C++ Programming Guide, "Shared Memory").
constexpr int kSharedWithoutOptIn = 48 << 10;

int shared_limit(const std::string& kernel) {
  CUdevice device = 0;
  int limit = 0;
  check(driver().cuCtxGetDevice(&device), "asking for the current device");
  check(driver().cuDeviceGetAttribute(&limit, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device),
        "asking for the shared memory limit for {}", kernel);
  return limit;
}

std::optional<Outcome> check_resources(const ResolvedLaunch& launch, CUfunction function) {
  if (!gate_enabled(Gate::resources)) return std::nullopt;
  const auto threads = std::int64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const int most = function_attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, launch.kernel);
  if (threads > most) {
    return candidate_fault(Gate::resources, Status::resource_exceeded,
                           fmt::format("{}: {} threads a block, but registers and launch bounds allow {}",
                                       launch.kernel, threads, most));
  }
  const int fixed = function_attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, launch.kernel);
  const int limit = shared_limit(launch.kernel);
  if (std::int64_t{fixed} + launch.shared_bytes > limit) {
    return candidate_fault(
        Gate::resources, Status::resource_exceeded,
        fmt::format("{}: {} bytes of shared memory ({} static, {} dynamic), but a block may have {}",
                    launch.kernel, std::int64_t{fixed} + launch.shared_bytes, fixed, launch.shared_bytes,
                    limit));
  }
  if (fixed + static_cast<int>(launch.shared_bytes) > kSharedWithoutOptIn) {
    check(driver().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(launch.shared_bytes)),
          "allowing {} bytes of dynamic shared memory for {}", launch.shared_bytes, launch.kernel);
  }
  const auto cluster = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  if (cluster > 8) {  // the portable maximum (CUDA C++ Programming Guide, "Thread Block Clusters")
    check(driver().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
          "allowing clusters of {} blocks for {}", cluster, launch.kernel);
  }
  return std::nullopt;
}

std::vector<CUlaunchAttribute> attributes_of(const PreparedPlan::Launch& launch) {
  std::vector<CUlaunchAttribute> attributes;
  if (launch.cluster != std::array<std::uint32_t, 3>{1, 1, 1}) {
    CUlaunchAttribute& cluster = attributes.emplace_back();
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
  }
  if (launch.cooperative) {
    CUlaunchAttribute& cooperative = attributes.emplace_back();
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
  }
  if (launch.pdl) {
    CUlaunchAttribute& serial = attributes.emplace_back();
    serial.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    serial.value.programmaticStreamSerializationAllowed = 1;
  }
  return attributes;
}

/// `attributes` must outlive the result.
CUlaunchConfig config_of(const PreparedPlan::Launch& launch, std::vector<CUlaunchAttribute>& attributes,
                         CUstream stream) {
  CUlaunchConfig config{};
  config.gridDimX = launch.grid[0];
  config.gridDimY = launch.grid[1];
  config.gridDimZ = launch.grid[2];
  config.blockDimX = launch.block[0];
  config.blockDimY = launch.block[1];
  config.blockDimZ = launch.block[2];
  config.sharedMemBytes = launch.shared_bytes;
  config.hStream = stream;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  return config;
}

CUresult launch_one(const PreparedPlan::Launch& launch, CUstream stream, const ScalarValues& scalars) {
  std::vector<CUlaunchAttribute> attributes = attributes_of(launch);
  const CUlaunchConfig config = config_of(launch, attributes, stream);
  std::vector<void*> parameters;
  for (const Argument& argument : launch.arguments)
    parameters.push_back(const_cast<std::byte*>(argument.data()));
  std::vector<Argument> values;
  values.reserve(launch.scalars.size());
  for (const PreparedPlan::ScalarPlace& place : launch.scalars) {
    const auto value = scalars.find(place.input.name);
    AK_ASSERT(value != scalars.end(), "every scalar input of a data set has a value");
    values.push_back(pack_input(place.input, value->second).bytes);
    parameters[place.argument] = values.back().data();
  }
  return driver().cuLaunchKernelEx(&config, launch.function, parameters.data(), nullptr);
}

// A launch of such a cluster would fail, or never start.
std::optional<Outcome> check_cluster(const PreparedPlan::Launch& launch) {
  const auto blocks = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  if (blocks == 1) return std::nullopt;
  std::vector<CUlaunchAttribute> attributes = attributes_of(launch);
  attributes.resize(1);  // the cluster; the others say nothing about what fits
  const CUlaunchConfig config = config_of(launch, attributes, nullptr);
  int clusters = 0;
  const CUresult result = driver().cuOccupancyMaxActiveClusters(&clusters, launch.function, &config);
  if (result == CUDA_SUCCESS && clusters == 0) {
    return candidate_fault(
        Gate::resources, Status::resource_exceeded,
        fmt::format("{}: no cluster of {} blocks with {} threads and {} bytes of dynamic shared memory each "
                    "fits on the device; 8 blocks are portable, and fewer threads or bytes may help",
                    launch.kernel, blocks, launch.block[0] * launch.block[1] * launch.block[2],
                    launch.shared_bytes));
  }
  if (result == CUDA_SUCCESS) return std::nullopt;
  Outcome outcome = outcome_of(result, StageId::check, launch.kernel);
  outcome.message += fmt::format(" (a cluster of {} blocks)", blocks);
  return outcome;
}

Result<PreparedPlan::Launch, Outcome> prepare_launch(const ResolvedLaunch& launch, const LoadedImage& image,
                                                     const Binder& binder) {
  const CUfunction function = image.find(launch.kernel);
  if (function == nullptr) {
    return candidate_fault(Gate::argument_types, Status::invalid_candidate,
                           fmt::format("the program has no kernel '{}'", launch.kernel));
  }
  std::vector<ArgumentBytes> arguments;
  for (const ResolvedArgument& argument : launch.arguments) {
    auto bound = binder.bind(argument);
    if (!bound) return bound.error();
    arguments.push_back(std::move(bound).value());
  }
  if (auto wrong = check_arguments(launch.kernel, function, arguments)) return *wrong;
  if (auto wrong = check_resources(launch, function)) return *wrong;
  PreparedPlan::Launch prepared{.kernel = launch.kernel,
                                .function = function,
                                .grid = launch.grid,
                                .block = launch.block,
                                .cluster = launch.cluster,
                                .shared_bytes = launch.shared_bytes,
                                .cooperative = launch.cooperative,
                                .pdl = launch.pdl,
                                .arguments = {},
                                .scalars = {}};
  for (const ArgumentBytes& argument : arguments) prepared.arguments.push_back(argument.bytes);
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    if (const auto* input = std::get_if<ResolvedScalarInput>(&launch.arguments[i]))
      prepared.scalars.push_back({i, *input});
  }
  if (auto wrong = check_cluster(prepared)) return *wrong;
  return prepared;
}

struct Meaning {
  CUresult result;
  Status status;
  Gate gate;  ///< of a candidate's fault
  std::string_view words;
};
constexpr Meaning kMeanings[] = {
    {CUDA_ERROR_ILLEGAL_ADDRESS, Status::memory_error, Gate::unmapped_reference,
     "a thread accessed memory that is not allocated"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, Status::memory_error, Gate::launch_errors,
     "a thread accessed an address that is not a multiple of the access size"},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, Status::memory_error, Gate::launch_errors,
     "a thread used an address in the wrong memory space"},
    {CUDA_ERROR_HARDWARE_STACK_ERROR, Status::memory_error, Gate::launch_errors,
     "the call stack overflowed or was overwritten"},
    {CUDA_ERROR_INVALID_PC, Status::memory_error, Gate::launch_errors,
     "a thread jumped to an invalid address"},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, Status::launch_error, Gate::launch_errors,
     "a thread executed an illegal instruction"},
    {CUDA_ERROR_ASSERT, Status::launch_error, Gate::launch_errors, "a device-side assert failed"},
    {CUDA_ERROR_LAUNCH_FAILED, Status::launch_error, Gate::launch_errors,
     "the kernel trapped or failed while it ran"},
    {CUDA_ERROR_TENSOR_MEMORY_LEAK, Status::launch_error, Gate::launch_errors,
     "the kernel ended without freeing its tensor memory"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, Status::hang, Gate::hang_watchdog,
     "the driver stopped a kernel that ran too long"},
    {CUDA_ERROR_OUT_OF_MEMORY, Status::out_of_memory, Gate::launch_errors,
     "the device has too little memory"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, Status::resource_exceeded, Gate::resources,
     "too many registers or threads for a block"},
    {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, Status::resource_exceeded, Gate::resources,
     "a cooperative grid must fit on the device at once"},
    {CUDA_ERROR_INVALID_CLUSTER_SIZE, Status::resource_exceeded, Gate::resources,
     "the cluster is too large for the device"},
    {CUDA_ERROR_INVALID_VALUE, Status::launch_error, Gate::launch_errors,
     "a launch dimension or attribute is not valid"},
    {CUDA_ERROR_NOT_SUPPORTED, Status::unsupported, Gate::launch_errors,
     "the device does not support this launch"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, Status::infrastructure_error, Gate::launch_errors,
     "the device's memory has an uncorrectable error"},
    {CUDA_ERROR_NVLINK_UNCORRECTABLE, Status::infrastructure_error, Gate::launch_errors,
     "the device's NVLink has an uncorrectable error"},
    {CUDA_ERROR_CONTAINED, Status::infrastructure_error, Gate::launch_errors,
     "the device has contained an error of its hardware"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, Status::unsupported, Gate::launch_errors,
     "the program was built for another architecture"},
    {CUDA_ERROR_INVALID_IMAGE, Status::unsupported, Gate::launch_errors,
     "the driver cannot load the program"},
};

}  // namespace

LoadedImage::LoadedImage(const KernelImage& image, const std::string& what)
    : module_(load_module(image.image, what)), file_name_(image.file_name) {
  for (const auto& [expression, symbol] : image.kernels)
    functions_[expression] = get_function(module_, symbol);
}

CUfunction LoadedImage::find(const std::string& expression) const {
  const auto found = functions_.find(expression);
  return found == functions_.end() ? nullptr : found->second;
}

std::vector<BufferView> LoadedImage::variables(const KernelImage& image) const {
  return module_variables(module_, image.image);
}

const LoadedImage& ProgramLoader::load() {
  if (!loaded_ || gate_enabled(Gate::module_reload)) loaded_.emplace(image_, what_);
  return *loaded_;
}

Result<PreparedPlan, Outcome> PreparedPlan::prepare(const ResolvedPlan& plan, const LoadedImage& image,
                                                    const AddressTable& addresses) {
  PreparedPlan prepared;
  for (const ResolvedWorkspace& workspace : plan.workspace) {
    if (workspace.init != WorkspaceInit::zero) continue;
    const auto found = addresses.find(workspace.name);
    AK_ASSERT(found != addresses.end(), "every workspace of a plan has an address");
    (workspace.prepared ? prepared.preparation_ : prepared.call_).zeroed.push_back(found->second);
  }
  const Binder binder(plan, addresses);
  for (const auto& [launches, sequence] :
       {std::pair{&plan.prepare, &prepared.preparation_}, std::pair{&plan.launches, &prepared.call_}}) {
    for (const ResolvedLaunch& launch : *launches) {
      auto one = prepare_launch(launch, image, binder);
      if (!one) return one.error();
      sequence->launches.push_back(std::move(one).value());
    }
  }
  if (prepared.call_.launches.empty() && gate_enabled(Gate::plan_bounds))
    return candidate_fault(Gate::plan_bounds, Status::invalid_candidate,
                           "the plan launches nothing for this workload");
  return prepared;
}

std::optional<Outcome> PreparedPlan::Sequence::enqueue(CUstream stream, const ScalarValues& scalars) const {
  for (const BufferView& workspace : zeroed) {
    check(driver().cuMemsetD8Async(workspace.address, 0, workspace.bytes, stream), "zeroing workspace");
  }
  for (const Launch& launch : launches) {
    const CUresult result = launch_one(launch, stream, scalars);
    if (result != CUDA_SUCCESS && gate_enabled(Gate::launch_errors))
      return outcome_of(result, StageId::check, launch.kernel);
  }
  return std::nullopt;
}

std::optional<Outcome> PreparedPlan::enqueue(CUstream stream, const ScalarValues& scalars) const {
  return call_.enqueue(stream, scalars);
}

std::optional<Outcome> PreparedPlan::enqueue_preparation(CUstream stream) const {
  return preparation_.enqueue(stream, {});
}

std::string PreparedPlan::kernel_list() const {
  std::string list;
  for (const Launch& launch : call_.launches) {
    if (list.find(launch.kernel) == std::string::npos) list += (list.empty() ? "" : ", ") + launch.kernel;
  }
  return list;
}

Outcome outcome_of(CUresult result, StageId stage, const std::string& kernels) {
  const auto found = std::find_if(std::begin(kMeanings), std::end(kMeanings),
                                  [&](const Meaning& m) { return m.result == result; });
  if (found == std::end(kMeanings)) {
    return {.status = process_lost(result) ? Status::launch_error : Status::infrastructure_error,
            .stage = stage,
            .message = fmt::format("{}: {}", kernels, describe(result)),
            .diagnostics = {},
            .gate = Gate::launch_errors};
  }
  return {.status = found->status,
          .stage = stage,
          .message = fmt::format("{}: {}: {}", kernels, found->words, describe(result)),
          .diagnostics = {},
          .gate = found->gate};
}

}  // namespace ak::runtime
