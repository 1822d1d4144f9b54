# Read by cpack for each generator: a Debian package takes shared libraries from Debian, the archive brings them.
set(components ${CPACK_COMPONENTS_ALL})
if(CPACK_GENERATOR STREQUAL "DEB")
  list(REMOVE_ITEM components bundled)
else()
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
endif()
set(CPACK_COMPONENTS_ALL ${components})
