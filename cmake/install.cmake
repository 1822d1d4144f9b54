# What is installed, and where (docs/install.md). Two components:
#   programs  the programs, their data, documents, man pages, shell completion and Python package
#   library   headers, the archive and the CMake files of find_package(alphakernel)
# The tree is relocatable: programs find everything relative to themselves.

# Third-party packages whose code is in the programs. Their licences are installed.
set(AK_REDISTRIBUTED_PACKAGES libfmt-dev nlohmann-json3-dev libcli11-dev libsqlite3-dev libsodium-dev zlib1g-dev
  liblzma-dev libcmark-gfm-dev gcc-12-base)
if(Eigen3_FOUND)
  list(APPEND AK_REDISTRIBUTED_PACKAGES libeigen3-dev)
endif()

install(TARGETS alphakernel alphakernel-dashboard DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
# A symbolic link is copied as one.
install(FILES ${PROJECT_BINARY_DIR}/bin/generate_kernel DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
install(DIRECTORY templates DESTINATION ${AK_INSTALL_DATADIR} COMPONENT programs)
install(DIRECTORY models/time DESTINATION ${AK_INSTALL_DATADIR}/models COMPONENT programs)
install(DIRECTORY experiments DESTINATION ${AK_INSTALL_DATADIR} COMPONENT programs
  FILES_MATCHING PATTERN "*.json" PATTERN results EXCLUDE)
install(FILES LICENSE README.md CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT programs FILES_MATCHING PATTERN "*.md"
        PATTERN "*.svg" PATTERN "*.png" PATTERN examples EXCLUDE)
install(FILES cmake/debian_copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT programs)
foreach(shell IN ITEMS bash zsh fish)
  install(FILES ${PROJECT_BINARY_DIR}/manual/alphakernel.${shell} DESTINATION ${AK_INSTALL_COMPLETION_${shell}}
    RENAME ${AK_COMPLETION_NAME_${shell}} COMPONENT programs)
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/manual/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT programs)

# ak_install_licences(PACKAGES...): Debian's copyright files, and the licences that they refer to.
function(ak_install_licences)
  set(texts)
  foreach(package IN LISTS ARGN)
    set(notice /usr/share/doc/${package}/copyright)
    if(NOT EXISTS ${notice})
      message(WARNING "${notice} is absent: what is packaged here would lack the licence notice of ${package}")
      continue()
    endif()
    install(FILES ${notice} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses RENAME ${package}.txt COMPONENT programs)
    file(STRINGS ${notice} lines REGEX "/usr/share/common-licenses/")
    string(REGEX MATCHALL "/usr/share/common-licenses/[A-Za-z]+(-[0-9]+(\\.[0-9]+)?)?" named "${lines}")
    list(APPEND texts ${named})
  endforeach()
  list(REMOVE_DUPLICATES texts)
  foreach(text IN LISTS texts)
    if(EXISTS ${text})
      file(REAL_PATH ${text} file)
      cmake_path(GET text FILENAME name)
      install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses/common-licenses RENAME ${name} COMPONENT programs)
    endif()
  endforeach()
endfunction()
ak_install_licences(${AK_REDISTRIBUTED_PACKAGES})

# The Python package, where Debian's Python looks below /usr (docs/python.md).
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  install(CODE "execute_process(COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/python/build_wheel.py --installed
    \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/python3/dist-packages OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT programs)
endif()
