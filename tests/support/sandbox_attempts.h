// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/process/worker_protocol.h"

namespace ak::test {

/// Something a hostile worker would do, done for real but without harm.
struct Attempt {
  std::string_view name;
  int (*make)();             ///< 0, or errno
  bool open_to_all = false;  ///< an unconfined process without privileges may do it
  bool on_files = false;     ///< refused by Landlock; the others by the filter of system calls
};
[[nodiscard]] std::span<const Attempt> attempts();

/// A worker's answer to "attempt": {name: errno} for every attempt. To "load": what the dynamic linker says
/// of the library named in the body, empty when it loads it. To "grow": touches as many MiB as the body says.
[[nodiscard]] Json attempt_in_worker(const runtime::WorkerMessage& request);

/// Names of the attempts that the system did not refuse though it should, from such an answer.
/// @param facts what the worker says of its confinement: what this kernel lacks is warned of, not expected.
[[nodiscard]] std::vector<std::string> not_refused(const Json& facts, const Json& answer);

/// main of this program as a worker: the product's roles, which answer the requests above too; as
/// "small_worker" a device worker that may use 80 MiB.
[[nodiscard]] int serve_test_worker(std::span<const std::string> arguments);

}  // namespace ak::test
