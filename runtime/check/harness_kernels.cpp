// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/harness_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/check/host_checks.h"
#include "runtime/cuda/launch_inspector.h"
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

HarnessSource harness_source(const std::vector<DType>& used, bool views) {
  HarnessSource harness{
      .file_name = "harness_kernels.cu",
      .source = std::string(file_text("device/harness_kernels.cu")),
      .options = {},
      .headers = {{"element_checks.cuh", std::string(file_text("device/element_checks.cuh"))},
                  {"random_input.cuh", std::string(file_text("device/random_input.cuh"))},
                  {"core/plan/random_values.cuh",
                   std::string(file_text("../../core/plan/random_values.cuh"))}},
      .kernels = {"sum_squares_double", "sum_squares_integer", "row_rms_double", "row_rms_integer",
                  "rounding_steps", "sort_rows", "scan_bytes", "first_difference", "hash_bytes",
                  "flush_write", "flush_read", "spin"}};
  std::vector<std::string_view> of_dtype{"fill", "compare"};
  if (views) {
    harness.options.emplace_back("-DAK_WITH_VIEWS");
    of_dtype.insert(of_dtype.end(), {"widen", "gather"});
  }
  for (const DTypeInfo& dtype : dtypes()) {
    // A view is made of doubles; that of an exact result of 64-bit integers too.
    const bool of_views = views && (dtype.dtype == DType::float64 || dtype.dtype == DType::int64);
    if (!uses(used, dtype.dtype) && !of_views) continue;
    harness.options.push_back(fmt::format("-DAK_USE_{}", dtype.name));
    for (const std::string_view kernel : of_dtype)
      harness.kernels.push_back(fmt::format("{}_{}", kernel, dtype.name));
  }
  return harness;
}

Comparison merge_blocks(const std::vector<BlockComparison>& blocks, std::int64_t count) {
  Comparison total{.count = count};
  BlockComparison all{0, 0, 0, kNone, 0, 0, 0, 0, kNone, 0, kNone, kNone, 0, kNone, 0};
  for (const BlockComparison& block : blocks) {
    const bool larger = !std::isnan(all.max_error) && !(block.max_error <= all.max_error);
    if (block.worst != kNone && (all.worst == kNone || larger)) {
      all.max_error = block.max_error;
      all.worst = block.worst;
    }
    all.sum_error += block.sum_error;
    all.sum_square += block.sum_square;
    all.wrong += block.wrong;
    all.far += block.far;
    all.unequal += block.unequal;
    all.nonfinite += block.nonfinite;
    all.unwritten += block.unwritten;
    all.first_nonfinite = std::min(all.first_nonfinite, block.first_nonfinite);
    all.first_unwritten = std::min(all.first_unwritten, block.first_unwritten);
    all.first_wrong = std::min(all.first_wrong, block.first_wrong);
    all.last_wrong = std::max(all.last_wrong, block.last_wrong);
    all.first_column = std::min(all.first_column, block.first_column);
    all.last_column = std::max(all.last_column, block.last_column);
  }
  total.max_error = all.max_error;
  total.mean_error = count > 0 ? all.sum_error / static_cast<double>(count) : 0;
  total.rms_error = count > 0 ? std::sqrt(all.sum_square / static_cast<double>(count)) : 0;
  total.worst = index_or_none(all.worst);
  total.wrong = static_cast<std::int64_t>(all.wrong);
  total.far = static_cast<std::int64_t>(all.far);
  total.unequal = static_cast<std::int64_t>(all.unequal);
  total.nonfinite = static_cast<std::int64_t>(all.nonfinite);
  total.first_nonfinite = index_or_none(all.first_nonfinite);
  total.unwritten = static_cast<std::int64_t>(all.unwritten);
  total.first_unwritten = index_or_none(all.first_unwritten);
  total.first_wrong = index_or_none(all.first_wrong);
  total.first_column = index_or_none(all.first_column);
  if (all.wrong > 0) {
    total.last_wrong = static_cast<std::int64_t>(all.last_wrong);
    total.last_column = static_cast<std::int64_t>(all.last_column);
  }
  return total;
}

Rows rows_of(const std::vector<std::int64_t>& shape) {
  Rows rows;
  for (const std::int64_t size : shape) {
    rows.count *= rows.length;
    rows.length = size;
  }
  return rows;
}

HarnessKernels::HarnessKernels(const std::string& image, CUstream stream, LaunchInspector* inspector)
    : module_(load_module(image, "the harness kernels")),
      stream_(stream),
      inspector_(inspector),
      scratch_(kHarnessBlocks * sizeof(BlockComparison), "the harness's scratch memory") {}

std::byte* HarnessKernels::on_host(CUdeviceptr address, std::int64_t count, std::size_t size) const {
  return inspector_->host({address, static_cast<std::size_t>(count) * size});
}

host_checks::Scale HarnessKernels::on_host(const ErrorScale& scale, std::int64_t count) const {
  const std::int64_t rows =
      (count + static_cast<std::int64_t>(scale.row) - 1) / static_cast<std::int64_t>(scale.row);
  return {.rms = scale.rms,
          .row_rms = scale.row_rms == 0
                         ? nullptr
                         : reinterpret_cast<const double*>(on_host(scale.row_rms, rows, sizeof(double))),
          .row = scale.row};
}

host_checks::Compared HarnessKernels::on_host(const ComparisonInput& input) const {
  const auto size = static_cast<std::size_t>(info(input.dtype).bytes);
  return {.dtype = input.dtype,
          .got = on_host(input.got, input.count, size),
          .expected = on_host(input.expected, input.count, sizeof(double)),
          .twin = on_host(input.twin, input.count, size),
          .count = input.count,
          .scale = on_host(input.scale, input.count),
          .element_limit = input.limits.element,
          .far_limit = input.limits.far,
          .poison = poison_byte(input.dtype)};
}

void HarnessKernels::fill(BufferView out, DType dtype, std::array<std::uint32_t, 2> key,
                          const ak_random::Draw& draw) const {
  if (inspector_ != nullptr) return host_checks::fill(inspector_->host(out), dtype, key, draw);
  launch(module_, fmt::format("fill_{}", info(dtype).name), block_count(draw.count), kHarnessThreads, stream_,
         out.address, ak_random::Key{key[0], key[1]}, draw);
}

double HarnessKernels::rms(CUdeviceptr values, bool floating, std::int64_t count) const {
  if (inspector_ != nullptr) return host_checks::rms(on_host(values, count, sizeof(double)), floating, count);
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

void HarnessKernels::row_rms(CUdeviceptr values, bool floating, const Rows& rows, CUdeviceptr out) const {
  if (inspector_ != nullptr) {
    auto* const sums = reinterpret_cast<double*>(on_host(out, rows.count, sizeof(double)));
    const std::byte* const first = on_host(values, rows.count * rows.length, sizeof(double));
    for (std::int64_t row = 0; row < rows.count; ++row)
      sums[row] = host_checks::rms(first + static_cast<std::size_t>(row * rows.length) * sizeof(double),
                                   floating, rows.length);
    return;
  }
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(rows.count, 1, kHarnessBlocks));
  launch(module_, floating ? "row_rms_double" : "row_rms_integer", blocks, kHarnessThreads, stream_, values,
         static_cast<std::uint64_t>(rows.count), static_cast<std::uint64_t>(rows.length), out);
}

RoundingError HarnessKernels::rounding_error(CUdeviceptr expected, std::int64_t count,
                                             const ErrorScale& scale, double roundoff) const {
  if (inspector_ != nullptr)
    return host_checks::rounding_error(
        reinterpret_cast<const double*>(on_host(expected, count, sizeof(double))), count,
        on_host(scale, count), roundoff);
  const unsigned blocks = block_count(count);
  launch(module_, "rounding_steps", blocks, kHarnessThreads, stream_, expected,
         static_cast<std::uint64_t>(count), scale, roundoff, scratch_.address());
  RoundingError rounding;
  double sum = 0, elements = 0;
  const auto parts = download<double>(scratch_.address(), 3 * std::size_t{blocks}, stream_);
  for (std::size_t i = 0; i < parts.size(); i += 3) {
    rounding.element = std::max(rounding.element, parts[i]);
    sum += parts[i + 1];
    elements += parts[i + 2];
  }
  // A uniform distribution on [-a, a] has the standard deviation a / sqrt(3).
  if (elements > 0) rounding.rms = std::sqrt(sum / elements / 3);
  return rounding;
}

Comparison HarnessKernels::compare(const ComparisonInput& input) const {
  if (inspector_ != nullptr) return merge_blocks({host_checks::compare(on_host(input))}, input.count);
  const unsigned blocks = block_count(input.count);
  launch(module_, fmt::format("compare_{}", info(input.dtype).name), blocks, kHarnessThreads, stream_,
         input.got, input.expected, input.twin, static_cast<std::uint64_t>(input.count), input.scale,
         input.limits, poison_byte(input.dtype), scratch_.address());
  return merge_blocks(download<BlockComparison>(scratch_.address(), blocks, stream_), input.count);
}

void HarnessKernels::widen(CUdeviceptr values, DType dtype, std::int64_t count, CUdeviceptr out) const {
  launch(module_, fmt::format("widen_{}", info(dtype).name), block_count(count), kHarnessThreads, stream_,
         values, static_cast<std::uint64_t>(count), out);
}

void HarnessKernels::gather(CUdeviceptr indices, DType dtype, const Rows& rows, CUdeviceptr source,
                            DType source_dtype, std::int64_t source_row, CUdeviceptr out) const {
  const int index_bytes = info(dtype).is_unsigned ? -info(dtype).bytes : info(dtype).bytes;
  launch(module_, fmt::format("gather_{}", info(source_dtype).name), block_count(rows.count * rows.length),
         kHarnessThreads, stream_, indices, index_bytes, static_cast<std::uint64_t>(rows.count),
         static_cast<std::uint64_t>(rows.length), source, static_cast<std::uint64_t>(source_row), out);
}

void HarnessKernels::sort_rows(CUdeviceptr values, const Rows& rows, CUdeviceptr out) const {
  launch(module_, "sort_rows", block_count(rows.count * rows.length), kHarnessThreads, stream_, values,
         static_cast<std::uint64_t>(rows.count), static_cast<std::uint64_t>(rows.length), out);
}

std::uint64_t HarnessKernels::hash(BufferView bytes) const {
  if (inspector_ != nullptr) return host_checks::hash(inspector_->host(bytes), bytes.bytes);
  hash_into(bytes, scratch_.address());
  return download<std::uint64_t>(scratch_.address(), 1, stream_)[0];
}

void HarnessKernels::hash_into(BufferView bytes, CUdeviceptr out) const {
  check(driver().cuMemsetD8Async(out, 0, sizeof(std::uint64_t), stream_), "clearing a hash");
  launch(module_, "hash_bytes", block_count(static_cast<std::int64_t>(bytes.bytes / 8 + 1)), kHarnessThreads,
         stream_, bytes.address, std::uint64_t{bytes.bytes}, out);
}

std::optional<std::uint64_t> HarnessKernels::scan(BufferView bytes, std::uint8_t expected) const {
  if (inspector_ != nullptr) return host_checks::scan(inspector_->host(bytes), bytes.bytes, expected);
  check(driver().cuMemsetD8Async(scratch_.address(), 0xFF, sizeof(std::uint64_t), stream_),
        "clearing a scan");
  launch(module_, "scan_bytes", block_count(static_cast<std::int64_t>(bytes.bytes)), kHarnessThreads, stream_,
         bytes.address, std::uint64_t{bytes.bytes}, expected, scratch_.address());
  const std::uint64_t first = download<std::uint64_t>(scratch_.address(), 1, stream_)[0];
  return first == kNone ? std::nullopt : std::optional(first);
}

std::optional<std::uint64_t> HarnessKernels::first_difference(BufferView a, BufferView b) const {
  AK_ASSERT(a.bytes == b.bytes, "only buffers of one size are compared byte by byte");
  if (inspector_ != nullptr)
    return host_checks::first_difference(inspector_->host(a), inspector_->host(b), a.bytes);
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

void HarnessKernels::read(BufferView buffer) const {
  // What is less than a word at the end shares a sector with the word before, or is read cold.
  launch(module_, "flush_read", block_count(static_cast<std::int64_t>(buffer.bytes / 16)), kHarnessThreads,
         stream_, buffer.address, std::uint64_t{buffer.bytes / 16}, scratch_.address());
}

void HarnessKernels::spin(std::uint64_t duration_ns) const {
  launch(module_, "spin", 1, 1, stream_, duration_ns);
}

}  // namespace ak::runtime
