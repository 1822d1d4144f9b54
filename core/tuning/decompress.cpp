// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/decompress.h"

#include <lzma.h>
#include <zlib.h>

#include <memory>

#include "core/error.h"

namespace ak {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
constexpr std::size_t kPiece = 1u << 18;
constexpr std::uint64_t kLzmaMemory = std::uint64_t{1}
                                      << 28;  // far above what any level of xz needs to unpack

/// Calls `next(piece, size)`, which returns the bytes it wrote and sets `done`, until done.
template <class Next>
std::string collect(const std::string& name, Next next) {
  std::string text, piece(kPiece, '\0');
  for (bool done = false; !done;) {
    text.append(piece, 0, next(piece.data(), piece.size(), done));
    if (text.size() > kMaxBytes) fail(ExitCode::bad_input, "{}: more than 1 GiB unpacked", name);
  }
  return text;
}

std::string gunzip(std::string& bytes, const std::string& name, bool& cut_short) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;  // largest window; a gzip header
  if (inflateInit2(&stream, kGzip) != Z_OK) fail(ExitCode::environment, "zlib cannot be used");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  return collect(name, [&](char* out, std::size_t size, bool& done) {
    stream.next_out = reinterpret_cast<Bytef*>(out);
    stream.avail_out = static_cast<uInt>(size);
    const int result = inflate(&stream, Z_NO_FLUSH);
    cut_short = result == Z_BUF_ERROR;
    if (result != Z_OK && result != Z_STREAM_END && !cut_short)
      fail(ExitCode::bad_input, "{}: damaged gzip data", name);
    done = result != Z_OK;
    return size - stream.avail_out;
  });
}

std::string unxz(const std::string& bytes, const std::string& name, bool& cut_short) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kLzmaMemory, 0) != LZMA_OK)
    fail(ExitCode::environment, "liblzma cannot be used");
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> end(&stream, lzma_end);
  stream.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
  stream.avail_in = bytes.size();
  return collect(name, [&](char* out, std::size_t size, bool& done) {
    stream.next_out = reinterpret_cast<std::uint8_t*>(out);
    stream.avail_out = size;
    const lzma_ret result = lzma_code(&stream, LZMA_RUN);
    cut_short = result == LZMA_BUF_ERROR;
    if (result != LZMA_OK && result != LZMA_STREAM_END && !cut_short)
      fail(ExitCode::bad_input, "{}: damaged xz data", name);
    done = result != LZMA_OK;
    return size - stream.avail_out;
  });
}

}  // namespace

std::string decompress(std::string bytes, const std::string& name, bool& cut_short) {
  cut_short = false;
  if (bytes.starts_with("\x1f\x8b")) return gunzip(bytes, name, cut_short);
  if (bytes.starts_with(std::string_view("\xfd"
                                         "7zXZ\0",
                                         6)))
    return unxz(bytes, name, cut_short);
  return bytes;
}

}  // namespace ak
