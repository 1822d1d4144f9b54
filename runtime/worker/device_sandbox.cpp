// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/device_sandbox.h"

#include <link.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "runtime/cuda/cuda_toolkit.h"

namespace ak::runtime {
namespace {

namespace fs = std::filesystem;

// Device nodes of the driver: nvidia0, nvidiactl, nvidia-uvm, nvidia-caps/; nvmap and the rest on Tegra; dxg
// under Windows. Not "nv": a disk is called nvme0n1.
constexpr std::string_view kDeviceNodes[] = {"nvidia", "nvmap", "nvgpu", "nvhost", "nvsciipc", "dxg"};
constexpr const char* kWritable[] = {"/dev/null", "/dev/zero"};

// Looked at by the driver and NVML when contexts and handles are made (topology, NUMA, driver parameters), by
// libc's allocator and by libraries that count cores. /proc/self is this process; others stay closed, for
// their environments may hold keys.
constexpr const char* kReadable[] = {
    "/proc/driver",  "/proc/self",  "/proc/cpuinfo", "/proc/meminfo",    "/proc/devices",    "/proc/modules",
    "/proc/version", "/proc/stat",  "/proc/sys/vm",  "/proc/sys/kernel", "/sys/devices",     "/sys/bus/pci",
    "/sys/class",    "/sys/module", "/dev/urandom",  "/etc/nvidia",      "/usr/share/nvidia"};

// Libraries are loaded when first needed: the driver's PTX compiler, cuBLASLt's and cuDNN's engines.
// Loading all of them before the confinement would cost every worker gigabytes and seconds; reading them
// gives nothing away.
constexpr const char* kLibraryPlaces[] = {
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/cuda", "/etc/ld.so.cache"};

// Files of the dynamic linker's configuration have a folder a line.
constexpr const char* kLinkerConfiguration = "/etc/ld.so.conf.d";

// Neither the root nor what is relative to the present folder is a place of libraries.
void add_folder(std::vector<fs::path>& folders, const fs::path& folder) {
  if (folder.is_absolute() && folder.has_relative_path()) folders.push_back(folder);
}

int add_loaded_library(dl_phdr_info* library, std::size_t, void* folders) {
  add_folder(*static_cast<std::vector<fs::path>*>(folders), fs::path(library->dlpi_name).parent_path());
  return 0;
}

void add_folders_of_linker(std::vector<fs::path>& folders) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kLinkerConfiguration, error)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) add_folder(folders, line);
  }
}

void add_library_places(std::vector<fs::path>& readable) {
  readable.insert(readable.end(), std::begin(kLibraryPlaces), std::end(kLibraryPlaces));
  ::dl_iterate_phdr(add_loaded_library, &readable);
  add_folders_of_linker(readable);
  if (const auto toolkit = find_cuda_toolkit()) add_folder(readable, toolkit->nvrtc_library.parent_path());
  const char* const listed = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(listed != nullptr ? listed : "");
  for (std::string folder; std::getline(folders, folder, ':');) add_folder(readable, folder);
}

void add_device_nodes(std::vector<fs::path>& writable) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename().string();
    for (const std::string_view beginning : kDeviceNodes)
      if (name.starts_with(beginning)) writable.push_back(entry.path());
  }
}

}  // namespace

Permissions library_permissions(bool gpu) {
  Permissions permissions;
  permissions.readable.assign(std::begin(kReadable), std::end(kReadable));
  permissions.writable.assign(std::begin(kWritable), std::end(kWritable));
  add_library_places(permissions.readable);
  if (gpu) add_device_nodes(permissions.writable);
  permissions.memory_files = gpu;
  return permissions;
}

Permissions device_permissions(bool gpu, const std::string& scratch) {
  Permissions permissions = gpu ? library_permissions(true) : Permissions{};
  if (!scratch.empty()) permissions.writable.emplace_back(scratch);
  return permissions;
}

}  // namespace ak::runtime
