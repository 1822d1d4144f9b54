// Fixed-width integers; the types are in ak_prelude.h.
#pragma once
#define INT8_MIN (-127 - 1)
#define INT16_MIN (-32767 - 1)
#define INT32_MIN (-2147483647 - 1)
#define INT64_MIN (-9223372036854775807LL - 1)
#define INT8_MAX 127
#define INT16_MAX 32767
#define INT32_MAX 2147483647
#define INT64_MAX 9223372036854775807LL
#define UINT8_MAX 255
#define UINT16_MAX 65535
#define UINT32_MAX 4294967295U
#define UINT64_MAX 18446744073709551615ULL
#define SIZE_MAX 18446744073709551615UL
typedef int8_t int_fast8_t;
typedef int8_t int_min8_t;
typedef int16_t int_min16_t;
typedef int32_t int_min32_t;
typedef int64_t int_min64_t;
typedef uint8_t uint_min8_t;
typedef uint16_t uint_min16_t;
typedef uint32_t uint_min32_t;
typedef uint64_t uint_min64_t;
typedef int64_t intmax_t;
typedef uint64_t uintmax_t;
