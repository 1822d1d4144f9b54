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

// Bytes at a time that go through the host's memory beside a GPU: 0.1 ms and less over PCIe 5 (chosen).
constexpr std::size_t kSmallBytes = std::size_t{1} << 20;

std::size_t room_of(const std::vector<TensorExchange::Tensor>& tensors) {
  std::size_t bytes = 0;
  for (const TensorExchange::Tensor& tensor : tensors) bytes += room_of(tensor.memory.bytes);
  return bytes;
}

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

void TensorExchange::pass(Way way, const std::vector<Tensor>& tensors, bool through_device) {
  if (tensors.empty()) return;
  if (!through_device) return copy_all(way, tensors, 0);
  const DeviceExchange::Mapping slice = device_->map();
  copy_all(way, tensors, slice.address());
}

bool TensorExchange::fits(const std::vector<Tensor>& tensors) const {
  return room_of(tensors) <= slice_bytes();
}

bool TensorExchange::through_device(const std::vector<Tensor>& tensors) const {
  return device_ != nullptr && room_of(tensors) > kSmallBytes;
}

Json TensorExchange::places(const std::vector<Tensor>& tensors) const {
  Json list = Json::array();
  std::size_t at = 0;
  for (const Tensor& tensor : tensors) {
    list.push_back({{"tensor", tensor.index}, {"at", at}, {"bytes", tensor.memory.bytes}});
    at += room_of(tensor.memory.bytes);
  }
  return {{"through", through_device(tensors) ? "device" : "host"}, {"places", std::move(list)}};
}

void TensorExchange::put_all(const std::vector<Tensor>& tensors) {
  pass(Way::there, tensors, through_device(tensors));
}
void TensorExchange::take_all(const std::vector<Tensor>& tensors) {
  pass(Way::back, tensors, through_device(tensors));
}

std::optional<ReferenceFailure> TensorExchange::send(std::size_t tensor, BufferView from) {
  for (std::size_t offset = 0; offset < from.bytes; offset += slice_bytes()) {
    const std::size_t bytes = std::min(slice_bytes(), from.bytes - offset);
    pass(Way::there, {{tensor, {from.address + offset, bytes}}}, device_ != nullptr);
    if (auto failed = ask("put", tensor, offset, bytes)) return failed;
  }
  return std::nullopt;
}

std::optional<ReferenceFailure> TensorExchange::receive(const std::string& request, std::size_t tensor,
                                                        BufferView to) {
  for (std::size_t offset = 0; offset < to.bytes; offset += slice_bytes()) {
    const std::size_t bytes = std::min(slice_bytes(), to.bytes - offset);
    if (auto failed = ask(request, tensor, offset, bytes)) return failed;
    pass(Way::back, {{tensor, {to.address + offset, bytes}}}, device_ != nullptr);
  }
  return std::nullopt;
}

}  // namespace ak::runtime
