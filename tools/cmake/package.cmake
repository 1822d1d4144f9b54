# `cpack -G DEB` and `cpack -G TGZ` in the build folder (docs/install.md).
set(CPACK_PACKAGE_NAME alphakernel)
set(CPACK_PACKAGE_VENDOR "The AlphaKernel authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "find fast, verified CUDA kernels")
set(CPACK_PACKAGE_DESCRIPTION
  "AlphaKernel writes CUDA kernels: search and language models propose candidates, NVRTC builds them, every one is
checked against an exact reference and timed with a cold cache, and everything learned is kept in a SQLite database.
Without a GPU, candidates run on a CPU emulator that checks every access.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_THREADS 0)
# How components become packages differs.
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/tools/cmake/package_components.cmake)

# The archive: everything, to be unpacked anywhere.
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_ARCHIVE_FILE_NAME alphakernel-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_FILE_NAME ${CPACK_ARCHIVE_FILE_NAME})

# Debian: alphakernel, and libalphakernel-dev where the library is built.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "AlphaKernel authors <alphakernel@example.org>")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME alphakernel)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SHLIBDEPS ON)
# Loaded at run time where they are there: language models need libcurl, builds NVRTC.
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS libcurl4)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS "cuda-nvrtc-13-0, cuda-cudart-dev-13-0, cuda-cccl-13-0")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libalphakernel-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
# The library starts the program of its own version.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "alphakernel (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "headers and static library for programs that use AlphaKernel")

include(CPack)
