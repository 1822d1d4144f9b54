// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/tensor_exchange.h"

#include <algorithm>

namespace ak::runtime {
namespace {

// A slice takes milliseconds to copy; a machine that is short of memory may take longer (chosen).
constexpr std::chrono::seconds kSliceLimit{30};

// As aligned as memory that the driver gives (CUDA C++ programming guide, device memory accesses).
constexpr std::size_t kAlignment = 256;
std::size_t room_of(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

std::optional<ReferenceFailure> TensorExchange::ask(const std::string& request, std::size_t tensor,
                                                    std::size_t offset, std::size_t bytes) {
  auto answer =
      process_.ask({{"do", request}, {"tensor", tensor}, {"offset", offset}, {"bytes", bytes}}, kSliceLimit);
  return answer ? std::nullopt : std::optional(std::move(answer).error());
}

/// `slice`: where the GPU's memory for it is mapped; 0: it goes through the host's.
void TensorExchange::copy(Way way, BufferView memory, CUdeviceptr slice, std::size_t at) {
  const bool there = way == Way::there;
  const char* const doing = there ? "reading an input" : "writing a result";
  if (slice != 0) {
    const CUdeviceptr from = there ? memory.address : slice + at, to = there ? slice + at : memory.address;
    check(driver().cuMemcpyDtoDAsync(to, from, memory.bytes, stream_), "{}", doing);
    return;
  }
  std::byte* const host = process_.exchange().bytes().data() + at;
  check(there ? driver().cuMemcpyDtoH(host, memory.address, memory.bytes)
              : driver().cuMemcpyHtoDAsync(memory.address, host, memory.bytes, stream_),
        "{}", doing);
}

void TensorExchange::copy_all(Way way, const std::vector<Tensor>& tensors, CUdeviceptr slice) {
  if (slice == 0) check(driver().cuStreamSynchronize(stream_), "waiting for tensors");
  std::size_t at = 0;
  for (const Tensor& tensor : tensors) {
    copy(way, tensor.memory, slice, at);
    at += room_of(tensor.memory.bytes);
  }
  // The other process, or the next slice, takes the place of what was copied.
  check(driver().cuStreamSynchronize(stream_), "passing tensors");
}

void TensorExchange::pass(Way way, const std::vector<Tensor>& tensors) {
  if (tensors.empty()) return;
  if (device_ == nullptr) return copy_all(way, tensors, 0);
  const DeviceExchange::Mapping slice = device_->map();
  copy_all(way, tensors, slice.address());
}

bool TensorExchange::fits(const std::vector<Tensor>& tensors) const {
  std::size_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += room_of(tensor.memory.bytes);
  return bytes <= slice_bytes();
}

Json TensorExchange::places(const std::vector<Tensor>& tensors) {
  Json list = Json::array();
  std::size_t at = 0;
  for (const Tensor& tensor : tensors) {
    list.push_back({{"tensor", tensor.index}, {"at", at}, {"bytes", tensor.memory.bytes}});
    at += room_of(tensor.memory.bytes);
  }
  return list;
}

void TensorExchange::put_all(const std::vector<Tensor>& tensors) { pass(Way::there, tensors); }
void TensorExchange::take_all(const std::vector<Tensor>& tensors) { pass(Way::back, tensors); }

std::optional<ReferenceFailure> TensorExchange::send(std::size_t tensor, BufferView from) {
  for (std::size_t offset = 0; offset < from.bytes; offset += slice_bytes()) {
    const std::size_t bytes = std::min(slice_bytes(), from.bytes - offset);
    put_all({{tensor, {from.address + offset, bytes}}});
    if (auto failed = ask("put", tensor, offset, bytes)) return failed;
  }
  return std::nullopt;
}

std::optional<ReferenceFailure> TensorExchange::receive(const std::string& request, std::size_t tensor,
                                                        BufferView to) {
  for (std::size_t offset = 0; offset < to.bytes; offset += slice_bytes()) {
    const std::size_t bytes = std::min(slice_bytes(), to.bytes - offset);
    if (auto failed = ask(request, tensor, offset, bytes)) return failed;
    take_all({{tensor, {to.address + offset, bytes}}});
  }
  return std::nullopt;
}

}  // namespace ak::runtime
