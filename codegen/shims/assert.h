// Redefined at every inclusion, as the standard header is.
#undef assert
#ifdef NDEBUG
#define assert(condition) (static_cast<void>(0))
#else
extern "C" __device__ void __assertfail(const char* message, const char* file, unsigned int line,
                                        const char* function, size_t char_size);
#define assert(condition) \
  ((condition) ? static_cast<void>(0) : __assertfail(#condition, __FILE__, __LINE__, __func__, 1))
#endif
