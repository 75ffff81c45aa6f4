# Read by cpack first. Packages have the date of SOURCE_DATE_EPOCH; without it that of the last
# commit, so that the same source gives the same bytes.
if("$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
  execute_process(COMMAND git -C "${CPACK_HS_SOURCE_DIR}" log -1 --format=%ct
    OUTPUT_VARIABLE hs_date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT hs_date MATCHES "^[0-9]+$")
    file(TIMESTAMP "${CPACK_HS_SOURCE_DIR}/CHANGELOG.md" hs_date %s UTC)
  endif()
  set(ENV{SOURCE_DATE_EPOCH} "${hs_date}")
endif()
