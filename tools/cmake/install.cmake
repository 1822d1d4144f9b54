# What is installed, and where (docs/install.md). Two components:
#   programs  the programs, their data, documents, man pages, shell completion and Python package
#   library   headers, the archive and the CMake files of find_package(alphakernel)
# The tree is relocatable: programs find everything relative to themselves.

# Third-party packages whose code is in the programs, and in the library. Both install their licences. The compiler's is that
# of libstdc++ and libgcc.
string(REGEX MATCH "^[0-9]+" AK_COMPILER_MAJOR ${CMAKE_CXX_COMPILER_VERSION})
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  execute_process(COMMAND gcc -dumpversion OUTPUT_VARIABLE AK_COMPILER_MAJOR OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
endif()
set(AK_PACKAGES_IN_LIBRARY libfmt-dev nlohmann-json3-dev libeigen3-dev libsqlite3-dev libsodium-dev zlib1g-dev
  liblzma-dev gcc-${AK_COMPILER_MAJOR}-base)
set(AK_PACKAGES_IN_PROGRAMS ${AK_PACKAGES_IN_LIBRARY} libcli11-dev libcmark-gfm-dev)
# Debian's packages each have a folder of documents of their own.
set(AK_NOTICES_programs ${CMAKE_INSTALL_DOCDIR})
set(AK_NOTICES_library ${CMAKE_INSTALL_DATAROOTDIR}/doc/libalphakernel-dev)

install(TARGETS alphakernel alphakernel-dashboard DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
# A symbolic link is copied as one.
install(FILES ${PROJECT_BINARY_DIR}/bin/generate_kernel DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
install(DIRECTORY templates DESTINATION ${AK_INSTALL_DATADIR} COMPONENT programs)
install(DIRECTORY models/time DESTINATION ${AK_INSTALL_DATADIR}/models COMPONENT programs)
install(DIRECTORY experiments DESTINATION ${AK_INSTALL_DATADIR} COMPONENT programs
  FILES_MATCHING PATTERN "*.json" PATTERN "reference.py" PATTERN "task.yml" PATTERN results EXCLUDE)
install(FILES LICENSE README.md CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT programs FILES_MATCHING PATTERN "*.md"
        PATTERN "*.svg" PATTERN "*.png" PATTERN examples EXCLUDE)
# docs/library.md points to it.
install(DIRECTORY docs/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT programs)
foreach(shell IN ITEMS bash zsh fish)
  install(FILES ${PROJECT_BINARY_DIR}/manual/alphakernel.${shell} DESTINATION ${AK_INSTALL_COMPLETION_${shell}}
    RENAME ${AK_COMPLETION_NAME_${shell}} COMPONENT programs)
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/manual/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT programs)

# ak_install_licences(COMPONENT PACKAGES...): our copyright, Debian's copyright files, and the licences that they refer to.
function(ak_install_licences component)
  set(folder ${AK_NOTICES_${component}})
  install(FILES tools/cmake/debian_copyright DESTINATION ${folder} RENAME copyright COMPONENT ${component})
  set(texts)
  foreach(package IN LISTS ARGN)
    set(notice /usr/share/doc/${package}/copyright)
    if(NOT EXISTS ${notice})
      # Who only builds needs no notice.
      install(CODE "message(FATAL_ERROR \"${notice} is absent: what is installed would lack the licence notice of ${package}; "
        "install that Debian package with its documents\")" COMPONENT ${component})
      continue()
    endif()
    install(FILES ${notice} DESTINATION ${folder}/licenses RENAME ${package}.txt COMPONENT ${component})
    file(STRINGS ${notice} lines REGEX "/usr/share/common-licenses/")
    string(REGEX MATCHALL "/usr/share/common-licenses/[A-Za-z]+(-[0-9]+(\\.[0-9]+)?)?" named "${lines}")
    list(APPEND texts ${named})
  endforeach()
  list(REMOVE_DUPLICATES texts)
  foreach(text IN LISTS texts)
    if(EXISTS ${text})
      file(REAL_PATH ${text} file)
      cmake_path(GET text FILENAME name)
      install(FILES ${file} DESTINATION ${folder}/licenses/common-licenses RENAME ${name} COMPONENT ${component})
    endif()
  endforeach()
endfunction()
ak_install_licences(programs ${AK_PACKAGES_IN_PROGRAMS})
ak_install_licences(library ${AK_PACKAGES_IN_LIBRARY})

# The Python package, where Debian's Python looks below /usr (docs/python.md).
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  install(CODE "execute_process(COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/python/build_wheel.py --installed
    \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/python3/dist-packages OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT programs)
endif()
