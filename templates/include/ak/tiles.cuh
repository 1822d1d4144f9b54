// SPDX-License-Identifier: Apache-2.0
// Which block makes which tile: grouped raster order for the L2 cache, and even shares of all slices (stream-K).
//
// Grouped: GROUP rows of tiles are taken together, column by column, so that blocks at work share operands in L2.
// Stream-K: slices of all tiles are lined up and cut into one part a block, of which the first and last tile may be
// shared with the neighbours. Integer arithmetic only; a division each.
#pragma once

namespace ak {

/// A tile's place in a grid of tiles.
struct TilePlace {
  int row, column;
};

/// Place of tile `index` of down x across tiles in groups of GROUP rows.
template <int GROUP, class Index>
__device__ __forceinline__ TilePlace grouped_place(Index index, int down, int across) {
  const int group = index / (GROUP * across), first = group * GROUP;
  const int rows = min(down - first, GROUP);
  const int within = index - group * GROUP * across;
  return {first + within % rows, within / rows};
}

/// A block's part of one tile: slices [first, first + count) of it. Whoever has the tile's first slice is its owner and
/// adds the other parts, in the order of blocks.
struct TilePart {
  int tile, first, count;
  bool first_part, last_part;  // holds the tile's first, last slice
};

/// Whole tiles in turn: `step` workers begin with tiles 0, 1, ... StreamedTiles (stream_k.cuh) cuts the
/// last of them.
struct WholeTiles {
  int tile, tiles, slices, step;
  __device__ WholeTiles(int worker, int workers, int all_tiles, int slices_per_tile)
      : tile(worker), tiles(all_tiles), slices(slices_per_tile), step(workers) {}
  __device__ __forceinline__ bool more() const { return tile < tiles; }
  __device__ __forceinline__ TilePart next() {
    const TilePart part = {tile, 0, slices, true, true};
    tile += step;
    return part;
  }
};

/// The slices of all tiles in even shares: block `block` of `blocks` takes [begin, end) of tiles * slices.
struct StreamK {
  int slices;
  long long at, end;
  /// The share of block `block`.
  __device__ StreamK(int tiles, int slices_per_tile, int block, int blocks) : slices(slices_per_tile) {
    const long long all = static_cast<long long>(tiles) * slices_per_tile;
    at = all * block / blocks;
    end = all * (block + 1) / blocks;
  }
  /// Whether a part is left.
  __device__ __forceinline__ bool more() const { return at < end; }
  /// The next part; only where there is one.
  __device__ __forceinline__ TilePart next() {
    const int tile = static_cast<int>(at / slices), first = static_cast<int>(at - static_cast<long long>(tile) * slices);
    const int count = static_cast<int>(min(static_cast<long long>(slices - first), end - at));
    at += count;
    return {tile, first, count, first == 0, first + count == slices};
  }
};

/// Slices [first, first + count) of split `part` when `slices` are shared by SPLITS blocks; count may be 0 or less.
template <int SPLITS>
__device__ __forceinline__ TilePart split_part(int tile, int slices, int part) {
  const int share = (slices + SPLITS - 1) / SPLITS, first = part * share, count = min(share, slices - first);
  return {tile, first, count, first == 0, first + count == slices};
}

}  // namespace ak
