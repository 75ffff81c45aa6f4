# The packages that `cpack` makes of a build, a component each: .debs for the Debian that it was
# built on. What one of them is not told of, the program has.
#
#     cpack --config build/release/CPackConfig.cmake -B DIRECTORY
include_guard()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each has its own
set(CPACK_PACKAGE_CONTACT "heapsnap maintainers <maintainers@heapsnap.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/PackageDate.cmake")
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/PackageDebian.cmake")
set(CPACK_HS_SOURCE_DIR "${PROJECT_SOURCE_DIR}")
set(CPACK_HS_STRIP "${CMAKE_STRIP}")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

# The release that it is for is told by its number: packages of both may lie in one directory.
set(hs_release 1)
if(EXISTS /etc/os-release)
  file(STRINGS /etc/os-release hs_lines REGEX "^(ID|VERSION_ID)=")
  if(hs_lines MATCHES "(^|;)ID=\"?debian" AND hs_lines MATCHES "VERSION_ID=\"?([0-9]+)")
    string(REGEX MATCH "VERSION_ID=\"?([0-9]+)" hs_found "${hs_lines}")
    set(hs_release "1~deb${CMAKE_MATCH_1}")
  endif()
endif()
set(CPACK_DEBIAN_PACKAGE_RELEASE "${hs_release}")
set(hs_exactly "(= ${PROJECT_VERSION}-${hs_release})")

# What is in a directory of the loader has it look again.
file(WRITE "${CMAKE_BINARY_DIR}/packages/triggers" "activate-noawait ldconfig\n")

# hs_package(COMPONENT NAME SECTION "summary" "what is in it" [INDEPENDENT] [LOADED] [DEPENDS list]
#            [RECOMMENDS list] [SUGGESTS list]). INDEPENDENT: of the architecture; LOADED: it has
# shared libraries.
macro(hs_package component name section summary what)
  cmake_parse_arguments(pkg "INDEPENDENT;LOADED" "DEPENDS;RECOMMENDS;SUGGESTS" "" ${ARGN})
  string(TOUPPER ${component} hs_upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${hs_upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${hs_upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${hs_upper}_DESCRIPTION "${summary}\n${what}")
  foreach(key DEPENDS RECOMMENDS SUGGESTS)
    if(pkg_${key})
      set(CPACK_DEBIAN_${hs_upper}_PACKAGE_${key} "${pkg_${key}}")
    endif()
  endforeach()
  if(pkg_LOADED)
    set(CPACK_DEBIAN_${hs_upper}_PACKAGE_CONTROL_EXTRA "${CMAKE_BINARY_DIR}/packages/triggers")
  endif()
  if(pkg_INDEPENDENT)
    set(CPACK_DEBIAN_${hs_upper}_PACKAGE_ARCHITECTURE all)
    set(CPACK_DEBIAN_${hs_upper}_PACKAGE_SHLIBDEPS OFF)
  endif()
  list(APPEND CPACK_HS_PACKAGES ${component}=${name})
endmacro()

# The server is loaded when it begins (tools/serve/mhd.h), which no linker knows of.
set(hs_recommends "")
if(HS_WITH_RECORD)
  list(APPEND hs_recommends "heapsnap-recorder ${hs_exactly}")
endif()
find_program(HS_DPKG_QUERY dpkg-query)
if(HS_WITH_SERVE AND HS_DPKG_QUERY)
  get_filename_component(hs_file "${HS_LIB_microhttpd}" REALPATH)
  string(REGEX REPLACE "^/usr/lib/" "*/lib/" hs_file "${hs_file}") # by dpkg it may be in /lib
  execute_process(COMMAND "${HS_DPKG_QUERY}" --search "${hs_file}"
    OUTPUT_VARIABLE hs_found ERROR_QUIET)
  if(hs_found MATCHES "^([^:,]+)")
    list(APPEND hs_recommends "${CMAKE_MATCH_1}")
  endif()
endif()
string(REPLACE ";" ", " hs_recommends "${hs_recommends}")

hs_package(program heapsnap devel "which variable keeps how much memory of a process alive"
"Of a live Linux process, or of its core, heapsnap tells which variable keeps
how much memory alive, and through which path: by name and source line,
without rebuilding, restarting or noticeably stopping it. It reads C, C++,
Rust, Go, Python and OCaml, and takes the names of stripped programs from
symbol servers."
  LOADED RECOMMENDS "${hs_recommends}")
hs_package(library libheapsnap${PROJECT_VERSION_MAJOR} libs "reads heap snapshots (library)"
"The questions that heapsnap answers of a snapshot (roots, paths, types,
leaks, dominators), for programs in C and whatever calls it."
  LOADED)
hs_package(dev libheapsnap-dev libdevel "reads heap snapshots (development files)"
"Headers and what pkg-config knows of libheapsnap; heapsnap/register.h, by
which a program tells of its own pools and roots; and, to link it, heapsnap's
recorder."
  DEPENDS "libheapsnap${PROJECT_VERSION_MAJOR} ${hs_exactly}")
hs_package(python python3-heapsnap python "reads heap snapshots (Python)"
"The module heapsnap asks libheapsnap of snapshots: roots, paths, types, leaks
and dominators, as objects of Python."
  INDEPENDENT DEPENDS "python3, libheapsnap${PROJECT_VERSION_MAJOR} (>= ${PROJECT_VERSION})")
# What Python compiles beside the module goes with it.
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
  "${PROJECT_SOURCE_DIR}/cmake/debian/postinst;${PROJECT_SOURCE_DIR}/cmake/debian/prerm")
if(HS_WITH_RECORD)
  hs_package(recorder heapsnap-recorder devel "samples allocations of a running program"
"The library that 'heapsnap record' loads into a program: it samples who
allocates, so that heapsnap tells who allocated what is kept."
    LOADED SUGGESTS "heapsnap ${hs_exactly}")
endif()

include(CPack)
