// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/harness_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime_device_files.h"

namespace ak::runtime {
namespace {

constexpr unsigned kHarnessThreads = 256;  // kThreads of runtime/check/device/harness_kernels.cu
// More than any device's resident blocks of this size, so that every SM works (chosen, untested).
constexpr std::int64_t kHarnessBlocks = 2048;
constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

unsigned block_count(std::int64_t elements) {
  const std::int64_t blocks = (elements + kHarnessThreads - 1) / kHarnessThreads;
  return static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, kHarnessBlocks));
}

std::int64_t index_or_none(std::uint64_t index) {
  return index == kNone ? -1 : static_cast<std::int64_t>(index);
}

template <class... Args>
void launch(const ModuleHandle& module, const std::string& kernel, unsigned blocks, unsigned threads,
            CUstream stream, Args... args) {
  void* parameters[] = {&args...};
  CUlaunchConfig config{};
  config.gridDimX = blocks;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = threads;
  config.hStream = stream;
  check(driver().cuLaunchKernelEx(&config, get_function(module, kernel), parameters, nullptr),
        "launching the harness kernel {}", kernel);
}

struct alignas(8) Key {
  std::uint32_t x, y;
};

std::string_view file_text(std::string_view name) {
  for (const EmbeddedFile& file : device_files()) {
    if (file.name == name) return file.text;
  }
  AK_ASSERT(false, "every device file named here is embedded by runtime/CMakeLists.txt");
  return {};
}

bool uses(const std::vector<DType>& used, DType dtype) {
  return std::find(used.begin(), used.end(), dtype) != used.end();
}

template <class T>
std::vector<T> download(CUdeviceptr address, std::size_t count, CUstream stream) {
  std::vector<T> values(count);
  check(driver().cuStreamSynchronize(stream), "running harness kernels");
  check(driver().cuMemcpyDtoH(values.data(), address, count * sizeof(T)),
        "reading a harness kernel's result");
  return values;
}

}  // namespace

HarnessSource harness_source(const std::vector<DType>& used) {
  HarnessSource harness{.file_name = "harness_kernels.cu",
                        .source = std::string(file_text("device/harness_kernels.cu")),
                        .options = {},
                        .headers = {{"random_input.cuh", std::string(file_text("device/random_input.cuh"))}},
                        .kernels = {"sum_squares_double", "sum_squares_integer", "scan_bytes",
                                    "first_difference", "hash_bytes", "flush_write", "flush_read", "spin"}};
  for (const DTypeInfo& dtype : dtypes()) {
    if (!uses(used, dtype.dtype)) continue;
    harness.options.push_back(fmt::format("-DAK_USE_{}", dtype.name));
    harness.kernels.push_back(fmt::format("fill_{}", dtype.name));
    harness.kernels.push_back(fmt::format("compare_{}", dtype.name));
  }
  return harness;
}

Comparison merge_blocks(const std::vector<BlockComparison>& blocks, std::int64_t count) {
  Comparison total{.count = count};
  BlockComparison all{0, 0, kNone, 0, 0, kNone, 0, kNone};
  for (const BlockComparison& block : blocks) {
    if (block.worst != kNone && (all.worst == kNone || !(block.max_error <= all.max_error))) {
      all.max_error = block.max_error;
      all.worst = block.worst;
    }
    all.sum_error += block.sum_error;
    all.wrong += block.wrong;
    all.nonfinite += block.nonfinite;
    all.unwritten += block.unwritten;
    all.first_nonfinite = std::min(all.first_nonfinite, block.first_nonfinite);
    all.first_unwritten = std::min(all.first_unwritten, block.first_unwritten);
  }
  total.max_error = all.max_error;
  total.mean_error = count > 0 ? all.sum_error / static_cast<double>(count) : 0;
  total.worst = index_or_none(all.worst);
  total.wrong = static_cast<std::int64_t>(all.wrong);
  total.nonfinite = static_cast<std::int64_t>(all.nonfinite);
  total.first_nonfinite = index_or_none(all.first_nonfinite);
  total.unwritten = static_cast<std::int64_t>(all.unwritten);
  total.first_unwritten = index_or_none(all.first_unwritten);
  return total;
}

HarnessKernels::HarnessKernels(const std::string& image, CUstream stream)
    : module_(load_module(image, "the harness kernels")),
      stream_(stream),
      scratch_(kHarnessBlocks * sizeof(BlockComparison), "the harness's scratch memory") {}

void HarnessKernels::fill(BufferView out, DType dtype, std::int64_t count, std::array<std::uint32_t, 2> key,
                          const InputDistribution& distribution) const {
  launch(module_, fmt::format("fill_{}", info(dtype).name), block_count(count), kHarnessThreads, stream_,
         out.address, static_cast<std::uint64_t>(count), Key{key[0], key[1]},
         static_cast<int>(distribution.kind), distribution.scale, distribution.shift);
}

double HarnessKernels::rms(CUdeviceptr values, bool floating, std::int64_t count) const {
  const unsigned blocks = block_count(count);
  launch(module_, floating ? "sum_squares_double" : "sum_squares_integer", blocks, kHarnessThreads, stream_,
         values, static_cast<std::uint64_t>(count), scratch_.address());
  double sum = 0, elements = 0;
  const auto parts = download<double>(scratch_.address(), 2 * std::size_t{blocks}, stream_);
  for (std::size_t i = 0; i < parts.size(); i += 2) {
    sum += parts[i];
    elements += parts[i + 1];
  }
  return elements > 0 ? std::sqrt(sum / elements) : 0;
}

Comparison HarnessKernels::compare(const ComparisonInput& input) const {
  const unsigned blocks = block_count(input.count);
  launch(module_, fmt::format("compare_{}", info(input.dtype).name), blocks, kHarnessThreads, stream_,
         input.got, input.expected, input.twin, static_cast<std::uint64_t>(input.count), input.rms,
         input.tolerance, poison_byte(input.dtype), scratch_.address());
  return merge_blocks(download<BlockComparison>(scratch_.address(), blocks, stream_), input.count);
}

std::uint64_t HarnessKernels::hash(BufferView bytes) const {
  hash_into(bytes, scratch_.address());
  return download<std::uint64_t>(scratch_.address(), 1, stream_)[0];
}

void HarnessKernels::hash_into(BufferView bytes, CUdeviceptr out) const {
  check(driver().cuMemsetD8Async(out, 0, sizeof(std::uint64_t), stream_), "clearing a hash");
  launch(module_, "hash_bytes", block_count(static_cast<std::int64_t>(bytes.bytes / 8 + 1)), kHarnessThreads,
         stream_, bytes.address, std::uint64_t{bytes.bytes}, out);
}

std::optional<std::uint64_t> HarnessKernels::scan(BufferView bytes, std::uint8_t expected) const {
  check(driver().cuMemsetD8Async(scratch_.address(), 0xFF, sizeof(std::uint64_t), stream_),
        "clearing a scan");
  launch(module_, "scan_bytes", block_count(static_cast<std::int64_t>(bytes.bytes)), kHarnessThreads, stream_,
         bytes.address, std::uint64_t{bytes.bytes}, expected, scratch_.address());
  const std::uint64_t first = download<std::uint64_t>(scratch_.address(), 1, stream_)[0];
  return first == kNone ? std::nullopt : std::optional(first);
}

std::optional<std::uint64_t> HarnessKernels::first_difference(BufferView a, BufferView b) const {
  AK_ASSERT(a.bytes == b.bytes, "only buffers of one size are compared byte by byte");
  check(driver().cuMemsetD8Async(scratch_.address(), 0xFF, sizeof(std::uint64_t), stream_),
        "clearing a comparison");
  launch(module_, "first_difference", block_count(static_cast<std::int64_t>(a.bytes / 8 + 1)),
         kHarnessThreads, stream_, a.address, b.address, std::uint64_t{a.bytes}, scratch_.address());
  const std::uint64_t first = download<std::uint64_t>(scratch_.address(), 1, stream_)[0];
  return first == kNone ? std::nullopt : std::optional(first * 8);
}

void HarnessKernels::flush(BufferView buffer) const {
  const std::uint64_t words = buffer.bytes / 16;
  launch(module_, "flush_write", static_cast<unsigned>(kHarnessBlocks), kHarnessThreads, stream_,
         buffer.address, words, 0x5A5A5A5Au);
  launch(module_, "flush_read", static_cast<unsigned>(kHarnessBlocks), kHarnessThreads, stream_,
         buffer.address, words, scratch_.address());
}

void HarnessKernels::spin(std::uint64_t duration_ns) const {
  launch(module_, "spin", 1, 1, stream_, duration_ns);
}

}  // namespace ak::runtime
