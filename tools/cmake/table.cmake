# ak_table(NAME OF Type IN namespace HEADER header FOLDER folder ROWS row...): a registry, one row a thing, in the order given.
# Row `tabu_search` is the source FOLDER/tabu_search.cpp, which includes "NAME.h" and defines `const Type kTabuSearch`.
# Generates NAME.h: HEADER, which defines Type, the declarations of all rows, and for a NAME `strategy_table` their addresses as
# `kStrategyTable`. Sets NAME_SOURCES, for SOURCES of ak_library(). A file in FOLDER without a row is an error.
function(ak_table name)
  cmake_parse_arguments(ARG "" "OF;IN;HEADER;FOLDER" "ROWS" ${ARGN})
  set(sources "")
  set(declarations "")
  set(addresses "")
  foreach(row IN LISTS ARG_ROWS)
    ak_constant_name(${row} constant)
    list(APPEND sources ${ARG_FOLDER}/${row}.cpp)
    string(APPEND declarations "extern const ${ARG_OF} ${constant};\n")
    list(APPEND addresses "&${constant}")
  endforeach()
  ak_check_rows(${name} ${ARG_FOLDER} ${sources})
  ak_constant_name(${name} table)
  list(LENGTH addresses count)
  list(JOIN addresses ", " addresses)
  file(RELATIVE_PATH list ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_LIST_FILE})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${name}.h CONTENT
"// Written by ak_table() in @list@.
#pragma once
#include <array>
#include \"@ARG_HEADER@\"
namespace @ARG_IN@ {
@declarations@inline constexpr std::array<const @ARG_OF@*, @count@> @table@{@addresses@};
}  // namespace @ARG_IN@
" @ONLY)
  include_directories(${PROJECT_BINARY_DIR}/generated)
  set(${name}_SOURCES ${sources} PARENT_SCOPE)
endfunction()

# Every source in the folder has exactly one row, and every row its source.
function(ak_check_rows name folder)
  set(unique ${ARGN})
  list(REMOVE_DUPLICATES unique)
  file(GLOB files RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${folder}/*.cpp)
  list(SORT unique)
  list(SORT files)
  list(LENGTH ARGN rows)
  list(LENGTH unique different)
  if(NOT files STREQUAL unique OR NOT rows EQUAL different)
    message(FATAL_ERROR "${name} in ${CMAKE_CURRENT_LIST_FILE}: one row a file of ${folder}/\n"
                        "  files: ${files}\n  rows:  ${ARGN}")
  endif()
endfunction()

# ak_constant_name(NAME VARIABLE): tabu_search -> kTabuSearch
function(ak_constant_name name variable)
  string(REPLACE "_" ";" words ${name})
  set(constant k)
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND constant ${first}${rest})
  endforeach()
  set(${variable} ${constant} PARENT_SCOPE)
endfunction()
