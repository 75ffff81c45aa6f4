# The parts that heapsnap can be built without. What is none of them is the core: it dumps, finds
# roots, and answers. Each part stands here once: of this are made its switch HS_WITH_NAME,
# base/parts.h for the C sources, and what is said of a command that is missing.
#
# hs_part(NAME "what it is" FOLDERS folders... [COMMANDS names...] [NEEDS parts...]
#         [PACKAGES packages of Debian...]). A part stands below those that it needs. A folder of
# two parts is built when either is.
set(hs_parts "")
set(hs_parts_header "/* The parts of this build: made by cmake/HsParts.cmake. */
#ifndef HS_BASE_PARTS_H
#define HS_BASE_PARTS_H\n\n")
set(hs_parts_missing "")

macro(hs_part name what)
  cmake_parse_arguments(part "" "" "FOLDERS;COMMANDS;NEEDS;PACKAGES" ${ARGN})
  string(TOLOWER ${name} part_lower)
  # As four of the switches were called before all parts had one.
  set(part_default ON)
  if(DEFINED HS_${name} AND NOT DEFINED HS_WITH_${name})
    set(part_default ${HS_${name}})
    unset(HS_${name} CACHE)
  endif()
  option(HS_WITH_${name} "Build ${what}" ${part_default})
  list(APPEND hs_parts ${name})
  string(REPLACE ";" " " part_packages "${part_PACKAGES}")
  if(HS_WITH_${name})
    foreach(needed ${part_NEEDS})
      if(NOT HS_WITH_${needed})
        message(FATAL_ERROR "the part ${part_lower} needs another: -DHS_WITH_${needed}=ON, or "
                            "-DHS_WITH_${name}=OFF")
      endif()
    endforeach()
    string(APPEND hs_parts_header
      "#define HS_WITH_${name} 1\n#define HS_IF_${name}(...) __VA_ARGS__\n")
  else()
    string(APPEND hs_parts_header "#define HS_WITH_${name} 0\n#define HS_IF_${name}(...)\n")
    foreach(command ${part_COMMANDS})
      string(APPEND hs_parts_missing " \\
    X(\"${command}\", \"${part_lower}\", \"HS_WITH_${name}\", \"${part_packages}\")")
    endforeach()
  endif()
endmacro()

hs_part(OCAML "what reads the heaps of OCaml programs, and its names and types"
  FOLDERS snapshot/runtimes/ocaml tools/ocaml-names tools/ocaml-types)
hs_part(GO "what reads the heaps of Go programs"
  FOLDERS snapshot/runtimes/go)
hs_part(PYTHON "what reads the objects of CPython"
  FOLDERS snapshot/runtimes/python)
hs_part(IMPORT "the command import"
  FOLDERS snapshot/import tools/import COMMANDS import)
hs_part(SQL "the command sql and libheapsnap_sqlite.so"
  FOLDERS query tools/sql COMMANDS sql PACKAGES libsqlite3-dev)
hs_part(EXPORT "the command export"
  FOLDERS export tools/export trace/stats COMMANDS export)
hs_part(RECORD "the recorder and the commands record, gather and trace"
  FOLDERS recorder tools/record tools/trace trace/stats COMMANDS record gather trace
  NEEDS EXPORT PACKAGES nettle-dev)
hs_part(WATCH "the command watch"
  FOLDERS tools/watch COMMANDS watch NEEDS EXPORT)
hs_part(PUSH "heapsnap-push, for 'watch --push'"
  FOLDERS tools/push NEEDS WATCH PACKAGES libcurl4-openssl-dev nettle-dev)
hs_part(DEBUGINFOD "heapsnap-debuginfod, which fetches debug files from symbol servers"
  FOLDERS tools/debuginfod PACKAGES libdebuginfod-dev)
hs_part(REPORT "the command report"
  FOLDERS viewer tools/report trace/stats COMMANDS report NEEDS RECORD)
hs_part(SERVE "the command serve"
  FOLDERS server tools/serve COMMANDS serve NEEDS REPORT PACKAGES libmicrohttpd-dev)
hs_part(BROWSE "the command browse"
  FOLDERS tools/browse COMMANDS browse PACKAGES libncurses-dev)

# The names of those that are built, for tests.
set(hs_parts_built "")
foreach(part ${hs_parts})
  if(HS_WITH_${part})
    string(TOLOWER ${part} part)
    string(APPEND hs_parts_built " ${part}")
  endif()
endforeach()

# A switch that changes nothing leaves the header, and so what includes it, as it is.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/parts/base/parts.h" @ONLY CONTENT
"${hs_parts_header}
/* X(command, part, switch, packages): the commands that this build has not. */
#define HS_MISSING_COMMANDS(X)${hs_parts_missing}

#endif
")
add_library(hs_parts INTERFACE)
target_include_directories(hs_parts INTERFACE "${CMAKE_BINARY_DIR}/parts")
