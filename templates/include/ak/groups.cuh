// SPDX-License-Identifier: Apache-2.0
// Tiles of products whose rows come in groups (experts) with weights of their own: which rows tile i has.
//
// The tiles of all groups are lined up, group after group; sizes of groups are only known on the device, and may be 0.
// A warp looks at 32 groups at once: a load a lane, a prefix sum over lanes, a vote. No shared memory, no barrier.
#pragma once

#include <ak/threads.cuh>

namespace ak {

// Rows [begin, begin + count) of one group.
struct GroupRows {
  int begin, count;
};
// Groups that lie one after another: group g is rows offsets[g] to offsets[g + 1].
struct RowsByOffsets {
  const int* offsets;
  __device__ __forceinline__ GroupRows operator()(int group) const {
    const int begin = offsets[group];
    return {begin, offsets[group + 1] - begin};
  }
};
// Groups in buffers of `pitch` rows each, of which the first counts[g] are in use.
struct RowsByCounts {
  const int* counts;
  int pitch;
  __device__ __forceinline__ GroupRows operator()(int group) const { return {group * pitch, counts[group]}; }
};

// A tile: its group, that group's rows, and its number among the tiles of the group.
struct GroupTile {
  int group, index;
  GroupRows rows;
};

// Finds tiles for a warp, all lanes of which take part. A group has one line of `across` tiles for every `height` rows,
// the last of them perhaps not whole.
template <class RowsOf>
struct GroupTiles {
  RowsOf rows_of;
  int groups, height, across;

  __device__ __forceinline__ GroupTiles(RowsOf rows, int group_count, int rows_of_tile, int tiles_across)
      : rows_of(rows), groups(group_count), height(rows_of_tile), across(tiles_across) {
    look_at(0);
  }
  // Tile number `tile`, which rises from call to call; false after the last.
  __device__ __forceinline__ bool find(int tile, GroupTile& found) {
    unsigned int beyond;
    while ((beyond = __ballot_sync(0xffffffffu, tile < end)) == 0) {
      if (first + 32 >= groups) return false;
      before = __shfl_sync(0xffffffffu, end, 31);
      look_at(first + 32);
    }
    const int lane = __ffs(static_cast<int>(beyond)) - 1;
    found.group = first + lane;
    found.rows.begin = __shfl_sync(0xffffffffu, own.begin, lane);
    found.rows.count = __shfl_sync(0xffffffffu, own.count, lane);
    found.index = tile - __shfl_sync(0xffffffffu, end - tiles_of(own), lane);
    return true;
  }

 private:
  int first = 0, before = 0;  // of the 32 groups looked at, and how many tiles precede them
  GroupRows own = {0, 0};     // rows of this lane's group
  int end = 0;                // tiles up to and with this lane's group

  __device__ __forceinline__ int tiles_of(const GroupRows& rows) const {
    return (rows.count + height - 1) / height * across;
  }
  __device__ __forceinline__ void look_at(int group) {
    first = group;
    const int lane = lane_index();
    own = group + lane < groups ? rows_of(group + lane) : GroupRows{0, 0};
    end = tiles_of(own);
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      const int other = __shfl_up_sync(0xffffffffu, end, offset);
      if (lane >= offset) end += other;
    }
    end += before;
  }
};

}  // namespace ak
