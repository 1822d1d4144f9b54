# The helpers every room's CMakeLists.txt is written with, and the warnings they apply.

add_library(ak_warnings INTERFACE)
target_compile_options(ak_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
  -Wno-restrict  # g++ 12 sees overlaps in std::string that are not there (GCC bug 105651)
  -Wold-style-cast -Wcast-align -Wunused -Woverloaded-virtual -Wmissing-declarations -Wconversion -Wno-sign-conversion
  $<$<BOOL:${AK_WERROR}>:-Werror>)
if(AK_SANITIZE)
  # Every finding ends the program: undefined behaviour would otherwise only be printed, and the test pass.
  target_compile_options(ak_warnings INTERFACE -fsanitize=${AK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(ak_warnings INTERFACE -fsanitize=${AK_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What sanitizers insert makes the compiler lose track of what is set (GCC manual, -fsanitize).
    target_compile_options(ak_warnings INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(AK_COVERAGE)
  target_compile_options(ak_warnings INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(ak_warnings INTERFACE --coverage)
endif()

# ak_library(NAME SOURCES ... [DEPENDS ...] [PRIVATE_DEPENDS ...] [KIND kind]): one static library per folder.
# KIND: how it is compiled (tools/cmake/build_time.cmake), plain unless said.
function(ak_library name)
  cmake_parse_arguments(ARG "" "KIND" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  if(NOT ARG_KIND)
    set(ARG_KIND plain)
  endif()
  add_library(ak_${name} STATIC ${ARG_SOURCES})
  target_include_directories(ak_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(ak_${name} PUBLIC ${ARG_DEPENDS} PRIVATE ak_warnings ${ARG_PRIVATE_DEPENDS})
  ak_build_fast(ak_${name} ${ARG_KIND})
endfunction()

# ak_sources(NAME KIND SOURCES...): more sources of the library ak_NAME, compiled in another way than the rest of it, as the
# target ak_NAME_KIND.
function(ak_sources name kind)
  set(objects ak_${name}_${kind})
  add_library(${objects} OBJECT ${ARGN})
  target_include_directories(${objects} PRIVATE $<TARGET_PROPERTY:ak_${name},INCLUDE_DIRECTORIES>)
  target_link_libraries(${objects} PRIVATE $<TARGET_PROPERTY:ak_${name},LINK_LIBRARIES>)
  ak_build_fast(${objects} ${kind})
  target_sources(ak_${name} PRIVATE $<TARGET_OBJECTS:${objects}>)
endfunction()

# ak_embed(TARGET NAMESPACE HEADER_NAME FILES ...): compiles text files in. Generates
# <build>/generated/HEADER_NAME.h declaring `std::span<const ak::EmbeddedFile> NAMESPACE()`,
# entries named by file path relative to the calling folder.
function(ak_embed target function_name header)
  cmake_parse_arguments(ARG "" "BASE" "FILES" ${ARGN})
  if(NOT ARG_BASE)
    set(ARG_BASE ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  set(generated ${PROJECT_BINARY_DIR}/generated/${header})
  set(inputs)
  foreach(file IN LISTS ARG_FILES)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${ARG_BASE} OUTPUT_VARIABLE absolute)
    list(APPEND inputs ${absolute})
  endforeach()
  set(list_file ${generated}.list)
  string(REPLACE ";" "\n" list_text "${inputs}")
  file(GENERATE OUTPUT ${list_file} CONTENT "${list_text}\n")
  add_custom_command(
    OUTPUT ${generated}.cpp ${generated}.h
    COMMAND ${CMAKE_COMMAND} -DLIST=${list_file} -DBASE=${ARG_BASE} -DFUNCTION=${function_name}
            -DOUTPUT=${generated} -P ${PROJECT_SOURCE_DIR}/tools/cmake/embed.cmake
    DEPENDS ${inputs} ${list_file} ${PROJECT_SOURCE_DIR}/tools/cmake/embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${generated}.cpp ${generated}.h)
  set_source_files_properties(${generated}.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
endfunction()
