// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/reference_worker.h"

#include <elf.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "core/error.h"
#include "reference_python_files.h"
#include "runtime/process/sandbox.h"
#include "runtime/worker/device_sandbox.h"

namespace ak::runtime {
namespace {

/// Byte by byte: what follows the line is for Python.
std::string read_line(int fd) {
  std::string line;
  for (char c = 0; ::read(fd, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

static_assert(kReferenceSocket == kStarterLines);
bool lines_are_in_a_file() {
  struct stat lines {};
  return ::fstat(kStarterLines, &lines) == 0 && S_ISREG(lines.st_mode);
}

ReferenceConfinement confinement_from(const Json& json) {
  return {.parent = json.at("parent"),
          .program = json.at("program"),
          .readable = json.at("readable").get<std::vector<std::string>>(),
          .gpu = json.at("gpu"),
          .device_memory = json.at("device_memory"),
          .memory_bytes = json.at("memory_bytes"),
          .starter = json.at("starter")};
}

/// The dynamic linker that a program names (its PT_INTERP); empty for one that has none.
std::string linker_of(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  for (int i = 0; file && i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff) + i * static_cast<std::streamoff>(sizeof part));
    file.read(reinterpret_cast<char*>(&part), sizeof part);
    if (!file || part.p_type != PT_INTERP) continue;
    std::string name(std::min<std::size_t>(part.p_filesz, 4096), '\0');
    file.seekg(static_cast<std::streamoff>(part.p_offset));
    file.read(name.data(), static_cast<std::streamsize>(name.size()));
    return name.c_str();
  }
  return "";
}

void confine_to(const ReferenceConfinement& confinement) {
  if (confinement.starter) {
    // A superset of what its copies, with a GPU or without, may do.
    static_cast<void>(filter_system_calls(
        {.programs = true, .local_listeners = true, .memory_files = true, .copies = true}));
    return;
  }
  Permissions permissions = reference_permissions(confinement.readable, confinement.gpu);
  permissions.executable = {confinement.program};
  if (const std::string linker = linker_of(confinement.program); !linker.empty())
    permissions.executable.emplace_back(linker);
  static_cast<void>(confine(permissions));
}

int last_descriptor(const ReferenceConfinement& confinement) {
  if (confinement.starter) return kStarterLifeline;
  return confinement.device_memory ? kReferenceDeviceMemory : kReferenceMemory;
}

void set_hard_limit(__rlimit_resource resource, rlim_t value) {
  const rlimit limit{value, value};
  ::setrlimit(resource, &limit);
}

/// Private memory, and on the CPU shared memory as well: CUDA reserves addresses by the terabyte.
void limit_memory(const ReferenceConfinement& confinement) {
  set_hard_limit(RLIMIT_DATA, confinement.memory_bytes);
  if (!confinement.gpu) set_hard_limit(RLIMIT_AS, confinement.memory_bytes + kReferenceMappedBytes);
}

const EmbeddedFile& boot_file() {
  const auto files = reference_python_files();
  const auto found = std::ranges::find(files, kBootFile, &EmbeddedFile::name);
  AK_ASSERT(found != files.end(), "boot.py is compiled in");
  return *found;
}

}  // namespace

Json to_json(const ReferenceConfinement& confinement) {
  return {{"parent", confinement.parent},
          {"program", confinement.program},
          {"readable", confinement.readable},
          {"gpu", confinement.gpu},
          {"device_memory", confinement.device_memory},
          {"memory_bytes", confinement.memory_bytes},
          {"starter", confinement.starter}};
}

Permissions reference_permissions(const std::vector<std::string>& readable, bool gpu) {
  Permissions permissions = library_permissions(gpu);
  permissions.readable.insert(permissions.readable.end(), readable.begin(), readable.end());
  if (gpu) {
    // The driver starts in here: cuInit() makes a listener and names its thread, or fails (CUDA error 304).
    permissions.local_listeners = true;
    permissions.writable.emplace_back("/proc/self/task");
  }
  return permissions;
}

int become_reference_process() {
  // A starter is there for all threads of its parent, and outlives the one that made it, whose end this signal would
  // tell. It needs none here: its lines are in a file, so it waits for no one.
  const bool starter = lines_are_in_a_file();
  if (!starter) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const ReferenceConfinement confinement = confinement_from(Json::parse(read_line(kReferenceSocket)));
  if (::getppid() != confinement.parent || starter != confinement.starter)
    return static_cast<int>(ExitCode::environment);
  ::syscall(SYS_close_range, static_cast<unsigned>(last_descriptor(confinement) + 1), ~0U, 0U);
  if (::chdir("/") != 0) return static_cast<int>(ExitCode::environment);
  // A file that it could make in spite of everything stays empty.
  set_hard_limit(RLIMIT_FSIZE, 0);
  confine_to(confinement);
  std::string program = confinement.program, boot(boot_file().text);
  std::array arguments{program.data(),
                       const_cast<char*>("-S"),
                       const_cast<char*>("-s"),
                       const_cast<char*>("-B"),
                       const_cast<char*>("-c"),
                       boot.data(),
                       static_cast<char*>(nullptr)};
  // Last of all: under a sanitizer this program itself has more than that until Python takes its place.
  if (confinement.memory_bytes > 0) limit_memory(confinement);
  ::execv(program.c_str(), arguments.data());
  std::fprintf(stderr, "%s cannot be started: %s\n", program.c_str(), std::strerror(errno));
  return static_cast<int>(ExitCode::environment);
}

}  // namespace ak::runtime
