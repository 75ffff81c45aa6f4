# Takes symbols and debug information out of the helper programs that were installed.
file(GLOB hs_helpers "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${hs_bin}/heapsnap-*")
foreach(hs_helper IN LISTS hs_helpers)
  if(hs_strip)
    execute_process(COMMAND "${hs_strip}" "${hs_helper}" ERROR_QUIET)
  endif()
endforeach()
