// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/tensor_exchange.h"

#include <algorithm>

namespace ak::runtime {
namespace {

// A slice takes milliseconds to copy; a machine that is short of memory may take longer (chosen).
constexpr std::chrono::seconds kSliceLimit{30};

}  // namespace

std::optional<ReferenceFailure> TensorExchange::ask(const std::string& request, std::size_t tensor,
                                                    std::size_t offset, std::size_t bytes) {
  auto answer =
      process_.ask({{"do", request}, {"tensor", tensor}, {"offset", offset}, {"bytes", bytes}}, kSliceLimit);
  return answer ? std::nullopt : std::optional(std::move(answer).error());
}

void TensorExchange::put_slice(CUdeviceptr from, std::size_t bytes) {
  if (device_ != nullptr) {
    const DeviceExchange::Mapping slice = device_->map();
    check(driver().cuMemcpyDtoDAsync(slice.address(), from, bytes, stream_), "reading an input");
    check(driver().cuStreamSynchronize(stream_), "reading an input");
    return;
  }
  check(driver().cuStreamSynchronize(stream_), "waiting for an input");
  check(driver().cuMemcpyDtoH(process_.exchange().bytes().data(), from, bytes), "reading an input");
}

/// The next slice takes the place of this one, so it waits.
void TensorExchange::take_slice(CUdeviceptr to, std::size_t bytes) {
  if (device_ != nullptr) {
    const DeviceExchange::Mapping slice = device_->map();
    check(driver().cuMemcpyDtoDAsync(to, slice.address(), bytes, stream_), "writing a result");
    check(driver().cuStreamSynchronize(stream_), "writing a result");
    return;
  }
  check(driver().cuMemcpyHtoDAsync(to, process_.exchange().bytes().data(), bytes, stream_),
        "writing a result");
  check(driver().cuStreamSynchronize(stream_), "writing a result");
}

std::optional<ReferenceFailure> TensorExchange::send(std::size_t tensor, BufferView from) {
  for (std::size_t offset = 0; offset < from.bytes; offset += kExchangeBytes) {
    const std::size_t bytes = std::min(kExchangeBytes, from.bytes - offset);
    put_slice(from.address + offset, bytes);
    if (auto failed = ask("put", tensor, offset, bytes)) return failed;
  }
  return std::nullopt;
}

std::optional<ReferenceFailure> TensorExchange::receive(const std::string& request, std::size_t tensor,
                                                        BufferView to) {
  for (std::size_t offset = 0; offset < to.bytes; offset += kExchangeBytes) {
    const std::size_t bytes = std::min(kExchangeBytes, to.bytes - offset);
    if (auto failed = ask(request, tensor, offset, bytes)) return failed;
    take_slice(to.address + offset, bytes);
  }
  return std::nullopt;
}

}  // namespace ak::runtime
