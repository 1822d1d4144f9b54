// SPDX-License-Identifier: Apache-2.0
#pragma once

// The first header that only cuDNN 9 has.
#if __has_include(<cudnn_graph.h>)

#include <cudnn_graph.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/result.h"
#include "core/unique_handle.h"

// clang-format off
#define AK_CUDNN_FUNCTIONS(X)                                                                \
  X(cudnnGetVersion) X(cudnnGetErrorString) X(cudnnGetLastErrorString) X(cudnnCreate)        \
  X(cudnnDestroy) X(cudnnSetStream) X(cudnnBackendCreateDescriptor)                          \
  X(cudnnBackendDestroyDescriptor) X(cudnnBackendSetAttribute) X(cudnnBackendGetAttribute)   \
  X(cudnnBackendFinalize) X(cudnnBackendExecute)
// clang-format on

namespace ak::runtime {

struct Cudnn {
#define AK_CUDNN_MEMBER(name) decltype(&::name) name = nullptr;
  AK_CUDNN_FUNCTIONS(AK_CUDNN_MEMBER)
#undef AK_CUDNN_MEMBER
};

/// The library, loaded on the first call; the error says why there is none.
[[nodiscard]] const Result<Cudnn>& loaded_cudnn();
/// Asserts that it could be loaded.
[[nodiscard]] inline const Cudnn& cudnn() { return loaded_cudnn().value(); }

/// What cuDNN refused to do, in its words. Becomes an error where an operation is set up.
class CudnnError : public Error {
 public:
  explicit CudnnError(const std::string& message) : Error(ExitCode::environment, message) {}
};

/// What the library says about a call that has just failed.
[[nodiscard]] std::string cudnn_message(cudnnStatus_t status);

/// Throws CudnnError with what was being done and the library's reason.
void expect_cudnn(cudnnStatus_t status, const std::string& activity);

void destroy_cudnn(cudnnHandle_t handle) noexcept;
void destroy_descriptor(cudnnBackendDescriptor_t descriptor) noexcept;
using CudnnHandle = UniqueHandle<cudnnHandle_t, destroy_cudnn>;

/// How the library calls a type of C++.
template <class T>
inline constexpr cudnnBackendAttributeType_t kCudnnType = T::is_not_an_attribute;
template <>
inline constexpr cudnnBackendAttributeType_t kCudnnType<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr cudnnBackendAttributeType_t kCudnnType<std::int64_t> = CUDNN_TYPE_INT64;
template <>
inline constexpr cudnnBackendAttributeType_t kCudnnType<void*> = CUDNN_TYPE_VOID_PTR;
template <>
inline constexpr cudnnBackendAttributeType_t kCudnnType<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr cudnnBackendAttributeType_t kCudnnType<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr cudnnBackendAttributeType_t kCudnnType<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr cudnnBackendAttributeType_t kCudnnType<cudnnReduceTensorOp_t> =
    CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
template <>
inline constexpr cudnnBackendAttributeType_t kCudnnType<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;

/// A descriptor of cuDNN's graph interface. Every call throws CudnnError where the library refuses.
/// Descriptors that it was given must outlive it.
class CudnnDescriptor {
 public:
  /// @param what for messages
  CudnnDescriptor(cudnnBackendDescriptorType_t type, std::string what);

  [[nodiscard]] cudnnBackendDescriptor_t get() const noexcept { return handle_.get(); }

  template <class T>
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const T& value) {
    return put(name, kCudnnType<T>, 1, &value);
  }
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  template <class T>
  CudnnDescriptor& set_all(cudnnBackendAttributeName_t name, std::span<const T> values) {
    return put(name, kCudnnType<T>, static_cast<std::int64_t>(values.size()), values.data());
  }
  CudnnDescriptor& set_all(cudnnBackendAttributeName_t name, const std::vector<CudnnDescriptor>& values);
  CudnnDescriptor& finalize();

  [[nodiscard]] std::int64_t get_int(cudnnBackendAttributeName_t name) const;
  /// The descriptors behind an attribute, which are of `type`.
  [[nodiscard]] std::vector<CudnnDescriptor> get_all(cudnnBackendAttributeName_t name,
                                                     cudnnBackendDescriptorType_t type,
                                                     const std::string& what) const;

 private:
  CudnnDescriptor& put(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                       const void* values);

  std::string what_;
  UniqueHandle<cudnnBackendDescriptor_t, destroy_descriptor> handle_;
};

}  // namespace ak::runtime

#endif
