# Programs made of suites. A suite is some *_test.cpp files of a program and one CTest entry that runs their cases, so that
# `ctest --parallel` balances a few long suites although a room has one program.

# ak_test_program(NAME [PROGRAM] [LINKS ...] [DEFINITIONS ...]): a Catch2 program. PROGRAM: its tests run alphakernel.
function(ak_test_program name)
  cmake_parse_arguments(ARG "PROGRAM" "" "LINKS;DEFINITIONS" ${ARGN})
  add_executable(${name})
  ak_build_fast(${name} test)
  target_link_libraries(${name} PRIVATE ak_warnings ak_test_main ${ARG_LINKS})
  target_compile_definitions(${name} PRIVATE AK_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ${ARG_DEFINITIONS})
  if(ARG_PROGRAM)
    target_compile_definitions(${name} PRIVATE AK_PROGRAM="$<TARGET_FILE:alphakernel>")
    add_dependencies(${name} alphakernel)
  endif()
endfunction()

# ak_suite(NAME OF program [COST seconds] SOURCES ...): adds the sources, and an entry for the cases in them. Catch2 tags
# every case with the name of its file (-#); a suite without cases fails (-w NoTests).
# COST: roughly what a long suite takes. CTest begins with the longest, so that no core waits for one in the end.
function(ak_suite name)
  cmake_parse_arguments(ARG "" "OF;COST" "SOURCES" ${ARGN})
  target_sources(${ARG_OF} PRIVATE ${ARG_SOURCES})
  set(tags)
  foreach(source IN LISTS ARG_SOURCES)
    cmake_path(GET source STEM stem)
    if(stem MATCHES "_test$")
      list(APPEND tags "[#${stem}]")
    endif()
  endforeach()
  list(JOIN tags "," filter)
  add_test(NAME ${name} COMMAND ${ARG_OF} -w NoTests "-#" "${filter}")
  set_tests_properties(${name} PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
endfunction()
