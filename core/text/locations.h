// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace ak {

/// Where this process finds what belongs to AlphaKernel. Each is empty where nothing was said: then it is
/// found as the command line finds it.
struct Locations {
  std::filesystem::path program;  ///< `alphakernel`, which is its own worker; else this process's executable
  std::filesystem::path config;   ///< the configuration file; else $ALPHAKERNEL_CONFIG or the user's
  std::filesystem::path templates = {};  ///< a folder of problems, searched before all others
  std::filesystem::path python = {};     ///< the interpreter for references in Python

  [[nodiscard]] bool operator==(const Locations&) const = default;
};

/// Of the whole process, for programs that use AlphaKernel as a library. Threads may call both; what already
/// runs keeps the locations that it began with.
void set_locations(Locations locations);
[[nodiscard]] Locations locations();

/// The file of the program: locations().program, else this process's executable.
[[nodiscard]] std::filesystem::path program_file();

}  // namespace ak
