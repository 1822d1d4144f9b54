// SPDX-License-Identifier: Apache-2.0
#include "runtime/baseline/cudnn_api.h"

#if __has_include(<cudnn_graph.h>)

#include <dlfcn.h>

#include <array>

#include "runtime/baseline/library_baseline.h"

namespace ak::runtime {
namespace {

Result<Cudnn> load_cudnn() {
  const auto library = load_vendor_library({"libcudnn.so.9"});
  if (!library) return library.error();
  Cudnn table;
#define AK_CUDNN_FIND(name)                                                 \
  table.name = reinterpret_cast<decltype(&::name)>(dlsym(*library, #name)); \
  if (table.name == nullptr) return InputError{"the cuDNN found lacks " #name};
  AK_CUDNN_FUNCTIONS(AK_CUDNN_FIND)
#undef AK_CUDNN_FIND
  return table;
}

}  // namespace

const Result<Cudnn>& loaded_cudnn() {
  static const Result<Cudnn> library = load_cudnn();
  return library;
}

std::string cudnn_message(cudnnStatus_t status) {
  std::array<char, 1024> reason{};
  cudnn().cudnnGetLastErrorString(reason.data(), reason.size() - 1);
  return fmt::format("{} ({})", cudnn().cudnnGetErrorString(status), reason.data());
}

void expect_cudnn(cudnnStatus_t status, const std::string& activity) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw CudnnError(fmt::format("{}: {}", activity, cudnn_message(status)));
}

void destroy_cudnn(cudnnHandle_t handle) noexcept { static_cast<void>(cudnn().cudnnDestroy(handle)); }
void destroy_descriptor(cudnnBackendDescriptor_t descriptor) noexcept {
  static_cast<void>(cudnn().cudnnBackendDestroyDescriptor(descriptor));
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type, std::string what)
    : what_(std::move(what)) {
  cudnnBackendDescriptor_t made = nullptr;
  expect_cudnn(cudnn().cudnnBackendCreateDescriptor(type, &made), "making " + what_);
  handle_.reset(made);
}

CudnnDescriptor& CudnnDescriptor::put(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                      std::int64_t count, const void* values) {
  expect_cudnn(cudnn().cudnnBackendSetAttribute(get(), name, type, count, values),
               fmt::format("setting attribute {} of {}", static_cast<int>(name), what_));
  return *this;
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  const cudnnBackendDescriptor_t raw = value.get();
  return put(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

CudnnDescriptor& CudnnDescriptor::set_all(cudnnBackendAttributeName_t name,
                                          const std::vector<CudnnDescriptor>& values) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor& value : values) raw.push_back(value.get());
  return put(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()), raw.data());
}

CudnnDescriptor& CudnnDescriptor::finalize() {
  expect_cudnn(cudnn().cudnnBackendFinalize(get()), "completing " + what_);
  return *this;
}

std::int64_t CudnnDescriptor::get_int(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0, count = 0;
  expect_cudnn(cudnn().cudnnBackendGetAttribute(get(), name, CUDNN_TYPE_INT64, 1, &count, &value),
               fmt::format("reading attribute {} of {}", static_cast<int>(name), what_));
  return value;
}

std::vector<CudnnDescriptor> CudnnDescriptor::get_all(cudnnBackendAttributeName_t name,
                                                      cudnnBackendDescriptorType_t type,
                                                      const std::string& what) const {
  const auto read = [&](std::int64_t room, cudnnBackendDescriptor_t* values) {
    std::int64_t count = 0;
    expect_cudnn(
        cudnn().cudnnBackendGetAttribute(get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, room, &count, values),
        fmt::format("reading attribute {} of {}", static_cast<int>(name), what_));
    return count;
  };
  std::vector<CudnnDescriptor> found;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (auto left = read(0, nullptr); left > 0; --left) raw.push_back(found.emplace_back(type, what).get());
  const auto count = raw.empty() ? 0 : read(static_cast<std::int64_t>(raw.size()), raw.data());
  found.erase(found.begin() + count, found.end());
  return found;
}

}  // namespace ak::runtime

#endif
