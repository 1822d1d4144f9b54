// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 without a GPU: it says yes to everything, its kernels do nothing, and it writes what it was asked to the
// file that MADE_UP_DRIVER_LOG names. Its devices have compute capability MADE_UP_DRIVER_ARCH (90).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Function {
  std::string name;
};
void* current = nullptr;
int contexts[8];

void say(const std::string& line) {
  static const char* const path = std::getenv("MADE_UP_DRIVER_LOG");
  if (path == nullptr) return;
  std::FILE* const file = std::fopen(path, "a");
  if (file == nullptr) return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

std::string numbers(std::initializer_list<unsigned int> list) {
  std::string text;
  for (const unsigned int one : list) text += (text.empty() ? "" : ",") + std::to_string(one);
  return text;
}

int arch() {
  const char* const given = std::getenv("MADE_UP_DRIVER_ARCH");
  return given != nullptr ? std::atoi(given) : 90;
}

}  // namespace

extern "C" {

struct Attribute {
  int id;
  char pad[4];
  char value[64];
};
struct Config {
  unsigned int grid[3], block[3], shared_bytes;
  void* stream;
  Attribute* attributes;
  unsigned int count;
};

int cuInit(unsigned int) { return 0; }
int cuGetErrorString(int status, const char** text) {
  *text = status == 209 ? "no kernel image is available" : "made up";
  return 0;
}
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, ordinal < 8 ? 0 : 101; }
int cuDeviceGetAttribute(int* value, int attribute, int) {
  if (attribute == 75) return *value = arch() / 10, 0;
  if (attribute == 76) return *value = arch() % 10, 0;
  if (attribute == 16) return *value = 132, 0;
  if (attribute == 38) return *value = 50 << 20, 0;
  return *value = 232448, 0;
}
int cuCtxGetDevice(int* device) {
  if (current == nullptr) return 201;
  return *device = static_cast<int>(static_cast<int*>(current) - contexts), 0;
}
int cuCtxGetCurrent(void** context) { return *context = current, 0; }
int cuCtxPushCurrent_v2(void* context) { return current = context, 0; }
int cuCtxPopCurrent_v2(void** context) { return *context = current, current = nullptr, 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { return *context = &contexts[device], 0; }
int cuModuleLoadData(void** module, const void* image) {
  say("load " + std::string(std::memcmp(image,
                                        "\x7f"
                                        "ELF",
                                        4) == 0
                                ? "cubin"
                                : "ptx"));
  return *module = const_cast<void*>(image), 0;
}
int cuModuleGetFunction(void** function, void*, const char* name) {
  say(std::string("function ") + name);
  return *function = new Function{name}, 0;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
  say("attribute " + std::to_string(attribute) + " " + std::to_string(value) + " " +
      static_cast<Function*>(function)->name);
  return 0;
}
int cuLaunchKernelEx(const Config* config, void* function, void**, void**) {
  static const bool quiet = std::getenv("MADE_UP_DRIVER_LOG") == nullptr;
  const unsigned int *g = config->grid, *b = config->block;
  constexpr int kBeginsEarly = 6;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
  const bool early = std::any_of(config->attributes, config->attributes + config->count,
                                 [](const Attribute& one) { return one.id == kBeginsEarly; });
  if (!quiet)
    say("launch " + static_cast<Function*>(function)->name + " grid " + numbers({g[0], g[1], g[2]}) +
        " block " + numbers({b[0], b[1], b[2]}) + " shared " + std::to_string(config->shared_bytes) +
        (early ? " early" : ""));
  return 0;
}
int cuLaunchKernel(void* function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                   unsigned int by, unsigned int bz, unsigned int shared, void* stream, void** arguments,
                   void** extra) {
  const Config config{{gx, gy, gz}, {bx, by, bz}, shared, stream, nullptr, 0};
  return cuLaunchKernelEx(&config, function, arguments, extra);
}
int cuMemsetD8Async(std::uint64_t, unsigned char, std::size_t, void*) { return 0; }
int cuStreamIsCapturing(void*, int* status) {
  const char* const given = std::getenv("MADE_UP_DRIVER_CAPTURING");
  return *status = given != nullptr && *given != '\0' ? 1 : 0, 0;
}
int cuThreadExchangeStreamCaptureMode(int*) { return 0; }
int cuTensorMapEncodeTiled(void* map, int, unsigned int, void*, const std::uint64_t*, const std::uint64_t*,
                           const unsigned int*, const unsigned int*, int, int, int, int) {
  std::memset(map, 0, 128);
  return 0;
}
}
