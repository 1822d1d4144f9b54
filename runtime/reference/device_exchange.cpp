// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/device_exchange.h"

namespace ak::runtime {

DeviceExchange::DeviceExchange()
    : memory_(kExchangeBytes, 0, "memory to share with the reference process", Sharing::other_processes),
      shared_(memory_.share()) {}

}  // namespace ak::runtime
