# The preset `headers`: every header compiles alone. A source that only includes it is generated for each; nothing is linked.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
  core/*.h emulator/*.h codegen/*.h runtime/*.h profiler/*.h db/*.h agent/*.h app/*.h pages/*.h serve/*.h tools/*.h
  include/*.h tests/*.h)
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
target_include_directories(ak_header_checks PRIVATE ${PROJECT_BINARY_DIR}/generated ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(ak_header_checks PRIVATE ak_tools ak_dashboard ak_httplib ak_sqlite ak_cuda_headers ak_curl_headers
  $<TARGET_NAME_IF_EXISTS:Eigen3::Eigen> Catch2::Catch2 ak_warnings)
# Headers that the build writes.
add_dependencies(ak_header_checks ak_core ak_db ak_pages ak_codegen ak_agent ak_app ak_tools ak_dashboard)
