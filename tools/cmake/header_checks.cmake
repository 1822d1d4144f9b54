# The preset `headers`: every header compiles alone. A source that only includes it is generated for each; nothing is linked.
set(patterns include/*.h tests/*.h)
include(${PROJECT_SOURCE_DIR}/tests/rooms.cmake)
foreach(room IN LISTS rooms)
  list(APPEND patterns ${room}/*.h)
endforeach()
list(TRANSFORM patterns PREPEND ${PROJECT_SOURCE_DIR}/)
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${patterns})
# Texts for NVRTC, not for this compiler.
list(FILTER headers EXCLUDE REGEX "^codegen/shims/")
list(FILTER headers EXCLUDE REGEX "^(tests/)?.*/node_modules/")
add_library(ak_header_checks OBJECT)
foreach(header IN LISTS headers)
  set(source ${PROJECT_BINARY_DIR}/header_checks/${header}.cpp)
  # Twice: a header may be included again.
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
  target_sources(ak_header_checks PRIVATE ${source})
endforeach()
target_include_directories(ak_header_checks PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
# Paths that the tests' headers are compiled with: what they say does not matter here.
target_compile_definitions(ak_header_checks PRIVATE AK_CUDA_SOURCES="" AK_TEST_BUILD_CACHE="" AK_PROGRAM="")
# Not the rooms, which would be built first: their headers include none that the build writes.
target_link_libraries(ak_header_checks PRIVATE ak_fmt nlohmann_json::nlohmann_json CLI11::CLI11 Catch2::Catch2
  ak_sqlite ak_sodium ak_unpacking ak_cmark ak_cuda_headers ak_curl_headers
  Eigen3::Eigen ak_warnings)
