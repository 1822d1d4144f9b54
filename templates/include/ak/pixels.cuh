// SPDX-License-Identifier: Apache-2.0
// A convolution as a product: what the rows of a tile have in the images, tap after tap of the filter.
//
// Images are [image][row][column][channel]. A row of the product is a pixel of the result, its k runs over the filter's
// rows, columns and channels. Everything is counted in chunks of neighbouring channels, which a pixel has a whole number
// of, so that a chunk is of one tap. Costs two registers a row, and two additions and comparisons a chunk.
#pragma once

#include <ak/copies.cuh>
#include <ak/swizzle.cuh>

namespace ak {

// Sizes of a convolution; `chunks` are those of a pixel. Images have fewer than 2^32 of them, and sides below 32000.
struct Convolution {
  int images, height, width, chunks;     // of the images
  int filter_height, filter_width;       // taps
  int out_height, out_width;

  __device__ __forceinline__ int pixels() const { return images * out_height * out_width; }
  __device__ __forceinline__ int depth() const { return filter_height * filter_width * chunks; }  // chunks of k
};

// A chunk of k: which tap it is of, and which chunk of that tap's pixel. There is none where row is the filter's height
// or more.
struct Tap {
  int row = 0, column = 0, chunk = 0;

  // `count` chunks further.
  __device__ __forceinline__ void advance(int count, const Convolution& of) {
    chunk += count;
    while (chunk >= of.chunks) {
      chunk -= of.chunks;
      if (++column == of.filter_width) {
        column = 0;
        ++row;
      }
    }
  }
};

// COUNT pixels of the result, as the places where their filters begin.
template <int COUNT, int STRIDE, int PADDING, int DILATION>
struct Pixels {
  u32 chunks[COUNT];   // where the first tap's pixel begins, modulo 2^32: it may lie in the padding
  int corners[COUNT];  // its row and column, 16 bits each

  // Pixels first, first + APART, ...; those past the last are padding everywhere.
  template <int APART>
  __device__ __forceinline__ void begin(const Convolution& of, int first) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const int pixel = first + i * APART, line = pixel / of.out_width, image = line / of.out_height;
      const int row = (line - image * of.out_height) * STRIDE - PADDING;
      const int column = (pixel - line * of.out_width) * STRIDE - PADDING;
      const u32 at = (static_cast<u32>(image) * of.height + row) * of.width + column;
      chunks[i] = at * of.chunks;
      corners[i] = pixel < of.pixels() ? row * 65536 | (column & 0xffff) : kNowhere;
    }
  }
  // Whether pixel i has something at a tap: not padding, and not behind the filter.
  __device__ __forceinline__ bool inside(int i, const Tap& tap, const Convolution& of) const {
    const u32 row = (corners[i] >> 16) + tap.row * DILATION;
    const u32 column = static_cast<short>(corners[i] & 0xffff) + tap.column * DILATION;
    return row < static_cast<u32>(of.height) && column < static_cast<u32>(of.width) && tap.row < of.filter_height;
  }
  // Number of that chunk in the images.
  __device__ __forceinline__ u32 at(int i, const Tap& tap, const Convolution& of) const {
    return chunks[i] + static_cast<u32>((tap.row * of.width + tap.column) * DILATION) * of.chunks + tap.chunk;
  }

 private:
  static constexpr int kNowhere = -32768 * 65536;  // no tap reaches row 0 from there
};

// This thread's share of copying slices of ROWS pixels, BYTES (64 or 128) bytes of k each, to swizzled lines in shared
// memory, by cp.async: chunks of 16 bytes, one of every line that is its own.
template <int ROWS, int BYTES, int THREADS, int STRIDE, int PADDING, int DILATION>
struct PixelCopies {
  static constexpr int kChunks = BYTES / 16, kApart = THREADS / kChunks, kCopies = ROWS / kApart;
  static_assert(kCopies * kApart == ROWS, "all threads copy alike");
  Pixels<kCopies, STRIDE, PADDING, DILATION> pixels;
  Tap tap;

  // Begins with the tile of pixels `first` on.
  __device__ __forceinline__ PixelCopies(const Convolution& of, int first) {
    pixels.template begin<kApart>(of, first + line());
    tap.advance(chunk(), of);
  }
  // Starts the copies of the next slice to `tile`.
  __device__ __forceinline__ void start(u32 tile, const void* images, const Convolution& of) {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const bool inside = pixels.inside(i, tap, of);
      const unsigned char* from = static_cast<const unsigned char*>(images) + (inside ? pixels.at(i, tap, of) * 16ull : 0);
      copy_async(tile + swizzled<BYTES>(line() + i * kApart, chunk()), from, inside);
    }
    tap.advance(kChunks, of);
  }

 private:
  static __device__ __forceinline__ int line() { return static_cast<int>(threadIdx.x) % THREADS / kChunks; }
  static __device__ __forceinline__ int chunk() { return static_cast<int>(threadIdx.x) % kChunks; }
};

}  // namespace ak
