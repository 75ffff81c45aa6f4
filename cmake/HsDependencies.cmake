# The libraries we stand on, as imported targets hs_dep_NAME. pkg-config first, then a plain search:
# Debian 12's libdwarf and jemalloc differ from Debian 13's in whether they carry a .pc file.
find_package(PkgConfig)
find_package(Threads REQUIRED)

# hs_link_dependency(NAME LIBRARY): the shared library, but the archive, and those that it needs,
# for a program with the property HS_IS_STATIC.
set(hs_archive_needs_edit bsd md tinfo)
set(hs_archive_needs_ncursesw tinfo)
set(hs_archive_needs_sqlite3 m)
set(hs_archive_needs_elf zstd z)
set(hs_archive_needs_dwarf elf zstd z)
function(hs_link_dependency name library)
  if(NOT HS_STATIC)
    target_link_libraries(hs_dep_${name} INTERFACE ${HS_LIB_${name}})
    return()
  endif()
  find_library(HS_ARCHIVE_${name} NAMES lib${library}.a
    HINTS "${PROJECT_SOURCE_DIR}/build/static-libs" /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  set(archive ${HS_ARCHIVE_${name}})
  if(NOT archive)
    set(archive lib${library}.a) # as the linker will say when it is needed
  endif()
  set(is_static $<BOOL:$<TARGET_PROPERTY:HS_IS_STATIC>>)
  target_link_libraries(hs_dep_${name} INTERFACE
    $<IF:${is_static},${archive},${HS_LIB_${name}}>)
  foreach(needed ${hs_archive_needs_${name}})
    target_link_libraries(hs_dep_${name} INTERFACE $<${is_static}:-l${needed}>)
  endforeach()
endfunction()

function(hs_find_dependency name module library header package)
  if(TARGET hs_dep_${name})
    return()
  endif()
  add_library(hs_dep_${name} INTERFACE)
  if(PkgConfig_FOUND)
    pkg_check_modules(HS_PC_${name} QUIET ${module})
  endif()
  find_library(HS_LIB_${name} NAMES ${library} HINTS ${HS_PC_${name}_LIBRARY_DIRS})
  find_path(HS_INC_${name} NAMES ${header}
            HINTS ${HS_PC_${name}_INCLUDE_DIRS} PATH_SUFFIXES libdwarf libdwarf-0 libdwarf-2)
  if(NOT HS_LIB_${name} OR NOT HS_INC_${name})
    if(ARGN STREQUAL "OPTIONAL")
      return()
    endif()
    message(FATAL_ERROR "${name} not found: run scripts/deps, or install '${package}'")
  endif()
  target_include_directories(hs_dep_${name} SYSTEM INTERFACE ${HS_INC_${name}})
  hs_link_dependency(${name} ${library})
endfunction()

hs_find_dependency(elf libelf elf libelf.h libelf-dev)
hs_find_dependency(dwarf libdwarf dwarf libdwarf.h libdwarf-dev)
hs_find_dependency(zstd libzstd zstd zstd.h libzstd-dev)
hs_find_dependency(lz4 liblz4 lz4 lz4frame.h liblz4-dev)
hs_find_dependency(zlib zlib z zlib.h zlib1g-dev)
option(HS_LZMA "Read the symbols of .gnu_debugdata (liblzma)" ON)
if(HS_LZMA)
  hs_find_dependency(lzma liblzma lzma lzma.h liblzma-dev OPTIONAL)
endif()
hs_find_dependency(xxhash libxxhash xxhash xxhash.h libxxhash-dev)
if(HS_WITH_RECORD OR HS_WITH_PUSH)
  hs_find_dependency(nettle nettle nettle nettle/hmac.h nettle-dev)
endif()
hs_find_dependency(jemalloc jemalloc jemalloc jemalloc/jemalloc.h libjemalloc-dev OPTIONAL)

if(HS_WITH_SQL)
  hs_find_dependency(sqlite3 sqlite3 sqlite3 sqlite3.h libsqlite3-dev OPTIONAL)
  if(NOT HS_LIB_sqlite3 OR NOT HS_INC_sqlite3)
    message(FATAL_ERROR "sqlite3 not found: run scripts/deps, install 'libsqlite3-dev', or build "
                        "without the command sql: -DHS_WITH_SQL=OFF")
  endif()
  # Line editing with a history for its prompt; without it lines are read as they are typed.
  hs_find_dependency(edit libedit edit editline/readline.h libedit-dev OPTIONAL)
endif()

if(HS_WITH_PUSH)
  hs_find_dependency(curl libcurl curl curl/curl.h libcurl4-openssl-dev OPTIONAL)
  if(NOT HS_LIB_curl OR NOT HS_INC_curl)
    message(FATAL_ERROR "libcurl not found: run scripts/deps, install 'libcurl4-openssl-dev', or "
                        "build without 'watch --push': -DHS_WITH_PUSH=OFF")
  endif()
endif()

if(HS_WITH_DEBUGINFOD)
  hs_find_dependency(debuginfod libdebuginfod debuginfod elfutils/debuginfod.h libdebuginfod-dev
    OPTIONAL)
  if(NOT HS_LIB_debuginfod OR NOT HS_INC_debuginfod)
    message(FATAL_ERROR "libdebuginfod not found: run scripts/deps, install 'libdebuginfod-dev', "
                        "or build without symbol servers: -DHS_WITH_DEBUGINFOD=OFF")
  endif()
endif()

if(HS_WITH_BROWSE)
  hs_find_dependency(ncursesw ncursesw ncursesw curses.h libncurses-dev OPTIONAL)
  if(NOT HS_LIB_ncursesw OR NOT HS_INC_ncursesw)
    message(FATAL_ERROR "ncursesw not found: run scripts/deps, install 'libncurses-dev', or build "
                        "without the command browse: -DHS_WITH_BROWSE=OFF")
  endif()
endif()

if(HS_WITH_SERVE)
  hs_find_dependency(microhttpd libmicrohttpd microhttpd microhttpd.h libmicrohttpd-dev OPTIONAL)
  if(NOT HS_LIB_microhttpd OR NOT HS_INC_microhttpd)
    message(FATAL_ERROR "libmicrohttpd not found: run scripts/deps, install 'libmicrohttpd-dev', "
                        "or build without the command serve: -DHS_WITH_SERVE=OFF")
  endif()
endif()

# libdwarf's interface changed in 0.x: dwarf_finish lost its error argument, and with it went the
# access argument of dwarf_init_b and the names of several calls.
file(WRITE "${CMAKE_BINARY_DIR}/probe/libdwarf_api.c" [[
#include <libdwarf.h>
int main(void)
{
    int (*finish)(Dwarf_Debug) = dwarf_finish;
    return finish == 0;
}
]])
if(NOT DEFINED HS_LIBDWARF_NEW_API)
  try_compile(HS_LIBDWARF_NEW_API "${CMAKE_BINARY_DIR}/probe"
    SOURCES "${CMAKE_BINARY_DIR}/probe/libdwarf_api.c"
    COMPILE_DEFINITIONS -Werror
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${HS_INC_dwarf}"
    LINK_LIBRARIES ${HS_LIB_dwarf} ${HS_LIB_elf} z)
  if(HS_LIBDWARF_NEW_API)
    message(STATUS "libdwarf: the 0.x interface")
  else()
    message(STATUS "libdwarf: the interface of 2021 and before")
  endif()
endif()
if(HS_LIBDWARF_NEW_API)
  target_compile_definitions(hs_dep_dwarf INTERFACE HS_LIBDWARF_NEW_API=1)
else()
  target_compile_definitions(hs_dep_dwarf INTERFACE HS_LIBDWARF_NEW_API=0)
endif()
