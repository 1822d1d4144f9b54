// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <alphakernel/errors.h>
#include <alphakernel/operations.h>

/// AlphaKernel for other programs. Needs C++17; docs/library.md shows how to use it.
namespace alphakernel {

/// Where a library finds its things. What is empty is found as the command line finds it.
struct Options {
  std::string database;   ///< file of the performance database; made when something is first stored
  std::string config;     ///< configuration file (docs/config.md)
  std::string templates;  ///< folder with problem folders, searched before the shipped ones
  /// The program `alphakernel`, whose processes build and run kernels. Empty: $ALPHAKERNEL_PROGRAM, else the
  /// one alongside this process's executable, else the one on PATH.
  std::string program;
};

/// The operations (operations.h has each as a function) on one database.
///
/// Threads: functions may be called from several threads at once, on one object and on several. They block,
/// and callbacks come on the thread that called; a callback must not throw. Kernels are built and run in
/// child processes, so that none can harm this one.
///
/// `config`, `templates` and `program` hold for the whole process: while an object lives, another one must
/// have the same.
class Library final : public Operations {
 public:
  /// Opens no file and starts no process. Throws Error(environment) when there is no program for workers,
  /// Error(bad_input) for a wrong configuration file, Error(usage) when another object has other locations.
  explicit Library(const Options& options = {});
  ~Library() override;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  JsonAnswer call(std::string_view operation, std::string_view request_json,
                  const EventHandler& on_event = {}, const std::atomic<bool>* stop = nullptr) override;

  /// The table of operations as `alphakernel operations --json` prints it.
  static std::string operations_json();
  /// "0.1.0".
  static std::string version();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace alphakernel
