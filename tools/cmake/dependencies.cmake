# Third-party packages, all from Debian 12 (tools/setup.sh installs them), and the CUDA toolkit's headers.
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(PkgConfig REQUIRED)

# Debian has fmt as a shared library and as headers: its own few functions are compiled here, once, into a static one.
add_library(ak_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_instances.cpp)
get_target_property(fmt_headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(ak_fmt SYSTEM PUBLIC ${fmt_headers})

# SQLite and libsodium are linked statically, so that an installed tree runs where they are absent.
pkg_check_modules(SQLITE REQUIRED sqlite3)
find_library(AK_SQLITE_ARCHIVE NAMES libsqlite3.a HINTS ${SQLITE_LIBRARY_DIRS} REQUIRED)
add_library(ak_sqlite INTERFACE)
target_include_directories(ak_sqlite SYSTEM INTERFACE ${SQLITE_INCLUDE_DIRS})
target_link_libraries(ak_sqlite INTERFACE ${AK_SQLITE_ARCHIVE} m ${CMAKE_DL_LIBS} Threads::Threads)

pkg_check_modules(SODIUM REQUIRED libsodium)
find_library(AK_SODIUM_ARCHIVE NAMES libsodium.a HINTS ${SODIUM_LIBRARY_DIRS} REQUIRED)
add_library(ak_sodium INTERFACE)
target_include_directories(ak_sodium SYSTEM INTERFACE ${SODIUM_INCLUDE_DIRS})
target_link_libraries(ak_sodium INTERFACE ${AK_SODIUM_ARCHIVE} Threads::Threads)

# zlib and liblzma read packed results of other tuners; linked statically as well.
find_path(AK_ZLIB_INCLUDE_DIR zlib.h REQUIRED)
find_path(AK_LZMA_INCLUDE_DIR lzma.h REQUIRED)
find_library(AK_ZLIB_ARCHIVE NAMES libz.a REQUIRED)
find_library(AK_LZMA_ARCHIVE NAMES liblzma.a REQUIRED)
add_library(ak_unpacking INTERFACE)
target_include_directories(ak_unpacking SYSTEM INTERFACE ${AK_ZLIB_INCLUDE_DIR} ${AK_LZMA_INCLUDE_DIR})
target_link_libraries(ak_unpacking INTERFACE ${AK_LZMA_ARCHIVE} ${AK_ZLIB_ARCHIVE} Threads::Threads)

# cmark-gfm turns the Markdown of pages into HTML; linked statically as well.
find_path(AK_CMARK_INCLUDE_DIR cmark-gfm-core-extensions.h REQUIRED)
find_library(AK_CMARK_EXTENSIONS_ARCHIVE NAMES libcmark-gfm-extensions.a REQUIRED)
find_library(AK_CMARK_ARCHIVE NAMES libcmark-gfm.a REQUIRED)
add_library(ak_cmark INTERFACE)
target_include_directories(ak_cmark SYSTEM INTERFACE ${AK_CMARK_INCLUDE_DIR})
target_link_libraries(ak_cmark INTERFACE ${AK_CMARK_EXTENSIONS_ARCHIVE} ${AK_CMARK_ARCHIVE})

# Only headers: libcurl is loaded at run time with dlopen, so that everything but language models runs where it is absent.
find_path(AK_CURL_INCLUDE_DIR curl/curl.h REQUIRED)
add_library(ak_curl_headers INTERFACE)
target_include_directories(ak_curl_headers SYSTEM INTERFACE ${AK_CURL_INCLUDE_DIR})

# Only headers: the driver, NVRTC and CUPTI are loaded at run time with dlopen.
find_path(AK_CUDA_INCLUDE_DIR cuda.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include
  DOC "Folder with cuda.h and nvrtc.h")
if(NOT AK_CUDA_INCLUDE_DIR)
  message(FATAL_ERROR "cuda.h not found. Install the CUDA 13 toolkit, or set CUDA_HOME to its folder "
                      "(tools/setup.sh says how).")
endif()
add_library(ak_cuda_headers INTERFACE)
target_include_directories(ak_cuda_headers SYSTEM INTERFACE ${AK_CUDA_INCLUDE_DIR})
