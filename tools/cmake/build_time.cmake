# What keeps the build short (docs/building.md has the figures): precompiled headers of the standard library and of third
# parties, several sources in one translation unit, and optimisation where it pays.

# g++ collects its garbage from a heap of 1 GiB on, which no source reaches: collecting is a tenth of its time otherwise.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=1048576)  # KiB
endif()

option(AK_FAST_BUILD "Precompile third-party headers and compile the sources of a folder at once" ON)

# ak_build_fast(TARGET hot|plain|command|test|own): how a target is compiled.
#   hot    -O2 in Release: its own computing time matters (search, statistics, predictions)
#   plain  -Og in Release, the default: it waits for compilers, devices, files and networks; two fifths less to compile
#   test   -O0, with Catch2 precompiled as well; united by folder where AK_UNITED_TEST_FOLDERS names the folder
#   command  as plain, with CLI11 precompiled as well (command lines)
#   own    options of its own, so a precompiled header of its own (what the emulator runs for every instruction)
function(ak_build_fast target kind)
  ak_optimise(${target} ${kind})
  if(NOT AK_FAST_BUILD)
    return()
  endif()
  if(kind STREQUAL "test")
    # Suites add sources after this call.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL ak_unite_test_folders ${target})")
  else()
    ak_unite_folders(${target})
  endif()
  if(kind STREQUAL "own")
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tools/cmake/precompiled.h)
  else()
    target_precompile_headers(${target} REUSE_FROM ak_precompiled_${kind})
  endif()
endfunction()

# Compiles the sources of a folder as one translation unit, so that names without linkage need to differ in a folder only.
# A small folder joins another one (AK_JOINED_FOLDERS): what its headers cost is more than what its sources do.
# Of AK_SEPARATE_FOLDERS those sources are united that have been given a UNITY_GROUP; the others are compiled alone.
function(ak_unite_folders target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    if(folder IN_LIST AK_SEPARATE_FOLDERS)
      continue()
    endif()
    if(DEFINED AK_JOINED_FOLDERS_${folder})
      set(folder ${AK_JOINED_FOLDERS_${folder}})
    endif()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "folder_${folder}")
  endforeach()
endfunction()
set(AK_SEPARATE_FOLDERS ops llm/api/dialects)

# Compiles the test sources of a folder together, AK_TEST_UNIT_SOURCES a unit in the order of their names, where
# AK_UNITED_TEST_FOLDERS (tests/CMakeLists.txt) names the folder. A main stays alone: it sets macros before Catch2.
set(AK_TEST_UNIT_SOURCES 16)  # keeps a unit short enough for cores to share the work; 14 sources took 7 s
function(ak_unite_test_folders target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  foreach(source IN LISTS sources)
    if(source MATCHES "_main\\.cpp$")
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE file)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    if(NOT folder IN_LIST AK_UNITED_TEST_FOLDERS)
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "${folder}" unit)
    list(LENGTH sources_${unit} before)
    list(APPEND sources_${unit} ${source})
    math(EXPR part "${before} / ${AK_TEST_UNIT_SOURCES}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "folder_${unit}_${part}")
  endforeach()
endfunction()

# Nothing but the emulator is bound by the host's arithmetic: -O2 builds faster than -O3 and runs no slower there.
function(ak_optimise target kind)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set(level_hot -O2)
    # With -Og g++ 12 sees uses in std::regex that are not there; what is compiled with -O2 is still checked.
    set(level_plain -Wno-maybe-uninitialized)
    set(level_command -Wno-maybe-uninitialized)
    set(level_test -O0)
    target_compile_options(${target} PRIVATE ${level_${kind}})
  elseif(AK_SANITIZE AND kind MATCHES "^(hot|own)$")
    # What computes would take hours under a sanitizer at -O0; the rest is built faster than -O1 would make it run.
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# ak_precompiled(KIND HEADERS...): one precompiled header a kind, shared by all targets of it.
function(ak_precompiled kind)
  if(NOT AK_FAST_BUILD)
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/generated/precompiled_${kind}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Exists to precompile the headers.\n")
  add_library(ak_precompiled_${kind} OBJECT ${source})
  target_link_libraries(ak_precompiled_${kind} PRIVATE ak_warnings ak_fmt nlohmann_json::nlohmann_json)
  target_include_directories(ak_precompiled_${kind} PRIVATE ${PROJECT_SOURCE_DIR})
  target_precompile_headers(ak_precompiled_${kind} PRIVATE ${PROJECT_SOURCE_DIR}/tools/cmake/precompiled.h ${ARGN})
  ak_optimise(ak_precompiled_${kind} ${kind})
endfunction()

find_program(AK_CCACHE ccache DOC "Compiler cache; used where there is one")
if(AK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The cache must take precompiled headers by content, and hold for checkouts in other folders.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${AK_CCACHE})
endif()
