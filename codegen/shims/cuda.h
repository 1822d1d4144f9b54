// The one driver type that device code sees: an opaque tensor map, 128 bytes aligned to 64 (CUDA driver API).
#pragma once
typedef struct alignas(64) CUtensorMap_st {
  unsigned long long opaque[16];
} CUtensorMap;
