# Installs the Python module into a directory of the distribution's interpreter that lies below the
# prefix: lib/python3.11/dist-packages below /usr/local on Debian 12, lib/python3/dist-packages
# below /usr; where it has none, into the latter, which then must be named in PYTHONPATH.
set(hs_python /usr/bin/python3)
if(NOT EXISTS "${hs_python}")
  set(hs_python python3)
endif()
execute_process(COMMAND "${hs_python}" -c "
import site, sys
below = sys.argv[1].rstrip('/') + '/'
print(min((d[len(below):] for d in site.getsitepackages() if d.startswith(below)), key=len))"
  "${CMAKE_INSTALL_PREFIX}"
  OUTPUT_VARIABLE hs_python_directory OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if("${hs_python_directory}" STREQUAL "")
  set(hs_python_directory lib/python3/dist-packages)
  message(STATUS "for Python: PYTHONPATH=${CMAKE_INSTALL_PREFIX}/${hs_python_directory}")
endif()
file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/${hs_python_directory}" TYPE DIRECTORY
  FILES "${hs_python_source}" FILES_MATCHING PATTERN "*.py")
