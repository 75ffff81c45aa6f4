# Run by cpack when the files of all components lie below a directory each: what Debian wants beside
# them. Manual pages and changes are packed, and each package says whose it is.
set(hs_version "${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
set(ENV{LC_ALL} C)
string(TIMESTAMP hs_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
string(TIMESTAMP hs_year "%Y" UTC)

function(hs_gzip)
  execute_process(COMMAND gzip -9nf ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(hs_pair IN LISTS CPACK_HS_PACKAGES)
  string(REGEX MATCH "^(.*)=(.*)$" hs_pair "${hs_pair}")
  set(hs_name "${CMAKE_MATCH_2}")
  set(hs_top "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${CMAKE_MATCH_1}/usr")
  if(NOT IS_DIRECTORY "${hs_top}")
    continue()
  endif()
  set(hs_doc "${hs_top}/share/doc/${hs_name}")
  file(WRITE "${hs_doc}/copyright"
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: heapsnap

Files: *
Copyright: ${hs_year} the heapsnap authors
License: Apache-2.0
 On Debian systems the text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
  file(WRITE "${hs_doc}/changelog.Debian"
"heapsnap (${hs_version}) unstable; urgency=medium

  * Made from the sources of heapsnap ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${hs_date}
")
  file(COPY "${CPACK_HS_SOURCE_DIR}/CHANGELOG.md" DESTINATION "${hs_doc}")
  file(RENAME "${hs_doc}/CHANGELOG.md" "${hs_doc}/changelog")
  hs_gzip("${hs_doc}/changelog.Debian" "${hs_doc}/changelog")
  # The same whatever the umask of who builds is.
  execute_process(COMMAND find "${hs_top}" -type d -exec chmod 755 "{}" +
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND find "${hs_doc}" -type f -exec chmod 644 "{}" +
    COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB hs_pages "${hs_top}/share/man/man*/*.[1-8]")
  if(hs_pages)
    hs_gzip(${hs_pages})
  endif()
  file(GLOB_RECURSE hs_archives "${hs_top}/lib/*.a")
  if(hs_archives)
    execute_process(COMMAND "${CPACK_HS_STRIP}" --strip-debug -D ${hs_archives}
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
