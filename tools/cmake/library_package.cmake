# find_package(alphakernel) for other projects: one archive with everything that is linked statically, so that a consumer
# needs nothing else, the public headers, and the CMake files that describe both (docs/install.md).

set(AK_LIBRARY_RULES ${CMAKE_CURRENT_LIST_DIR})

# The library of the public interface; the imported target has its EXPORT_NAME.
set(AK_PUBLIC_LIBRARIES alphakernel_library)

# ak_archives_of(OUTPUT TARGETS...): the static libraries behind targets, those that use others first; a target, or the path
# of a file.
function(ak_archives_of output)
  set(found)
  set(waiting ${ARGN})
  while(waiting)
    list(POP_FRONT waiting item)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" item "${item}")
    if(item MATCHES "\\.a$")
      list(APPEND found ${item})
    elseif(TARGET ${item})
      get_target_property(original ${item} ALIASED_TARGET)
      if(original)
        set(item ${original})
      endif()
      if(item IN_LIST seen)
        continue()
      endif()
      list(APPEND seen ${item})
      get_target_property(type ${item} TYPE)
      if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND found ${item})
        get_target_property(links ${item} LINK_LIBRARIES)
        if(links)
          list(APPEND waiting ${links})
        endif()
      endif()
      get_target_property(links ${item} INTERFACE_LINK_LIBRARIES)
      if(links)
        list(APPEND waiting ${links})
      endif()
    endif()
  endwhile()
  list(REMOVE_DUPLICATES found)
  set(${output} ${found} PARENT_SCOPE)
endfunction()

# ak_package_library(TARGET): installs TARGET, with all that it is linked to, as lib<EXPORT_NAME>.a.
function(ak_package_library target)
  get_target_property(name ${target} EXPORT_NAME)
  ak_archives_of(archives ${target})
  set(files)
  set(targets)
  foreach(archive IN LISTS archives)
    if(TARGET ${archive})
      list(APPEND files $<TARGET_FILE:${archive}>)
      list(APPEND targets ${archive})
    else()
      list(APPEND files ${archive})
    endif()
  endforeach()
  # ar reads its commands from a file: the archive, then what goes into it.
  list(TRANSFORM files PREPEND "ADDLIB " OUTPUT_VARIABLE commands)
  list(JOIN commands "\n" commands)
  set(merged ${PROJECT_BINARY_DIR}/package/lib${name}.a)
  file(GENERATE OUTPUT ${merged}.ar CONTENT "CREATE ${merged}\n${commands}\nSAVE\nEND\n")
  add_custom_command(OUTPUT ${merged} COMMAND ${CMAKE_AR} -M < ${merged}.ar DEPENDS ${targets} ${merged}.ar VERBATIM)
  add_custom_target(${target}_merged ALL DEPENDS ${merged})
  install(FILES ${merged} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
  set(AK_LIBRARY_NAME ${name})
  set(AK_CONFIG_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/${PROJECT_NAME})
  include(CMakePackageConfigHelpers)
  configure_package_config_file(${AK_LIBRARY_RULES}/alphakernel-config.cmake.in
    ${PROJECT_BINARY_DIR}/package/alphakernel-config.cmake INSTALL_DESTINATION ${AK_CONFIG_FOLDER}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
  # Before 1.0 a minor version may change the interface.
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/alphakernel-config-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/package/alphakernel-config.cmake
    ${PROJECT_BINARY_DIR}/package/alphakernel-config-version.cmake DESTINATION ${AK_CONFIG_FOLDER} COMPONENT library)
  install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library FILES_MATCHING PATTERN "*.h")
endfunction()

foreach(library IN LISTS AK_PUBLIC_LIBRARIES)
  ak_package_library(${library})
endforeach()
