# Read by cpack for each generator: Debian packages are made of a component each, the archive of all.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
endif()
