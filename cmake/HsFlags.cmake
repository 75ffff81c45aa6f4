# hs_flags: what every file of ours is compiled with. Nothing here depends on the machine that
# builds (no -march=native): a binary runs on any machine of its architecture.
add_library(hs_flags INTERFACE)

target_compile_definitions(hs_flags INTERFACE _GNU_SOURCE HS_VERSION="${PROJECT_VERSION}")
target_compile_options(hs_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef
  -Wimplicit-fallthrough -fno-omit-frame-pointer
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
# gcc warns of every snprintf that may cut, which is what snprintf is for here; without assertions
# a variable that only they read is unused.
target_compile_options(hs_flags INTERFACE
  $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>
  $<$<CONFIG:RelWithDebInfo>:-Wno-unused-variable>
  $<$<CONFIG:RelWithDebInfo>:-Wno-unused-but-set-variable>)
if(HS_WERROR)
  target_compile_options(hs_flags INTERFACE -Werror)
endif()

if(HS_LINKER)
  target_link_options(hs_flags INTERFACE -fuse-ld=${HS_LINKER})
endif()

if(HS_SANITIZE)
  set(HS_JEMALLOC OFF)
  set(hs_sanitize -fsanitize=${HS_SANITIZE} -fno-sanitize-recover=all)
  # Each check of undefined behaviour has a record of where it stands and what it found: 13 MB in
  # the program, which each process registers and looks through for leaks. A trap says the line, by
  # the address sanitizer (handle_sigill); -DHS_SANITIZE_TRAP=OFF says in words what was wrong.
  if(HS_SANITIZE_TRAP AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    list(APPEND hs_sanitize -fsanitize-undefined-trap-on-error)
  endif()
  target_compile_options(hs_flags INTERFACE ${hs_sanitize})
  target_link_options(hs_flags INTERFACE ${hs_sanitize})
  target_compile_definitions(hs_flags INTERFACE HS_SANITIZED=1)
endif()
if(HS_COVERAGE)
  target_compile_options(hs_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(hs_flags INTERFACE --coverage)
endif()
if(HS_LIBFUZZER)
  set(HS_JEMALLOC OFF)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "libFuzzer needs clang: CC=clang cmake --preset fuzz")
  endif()
  target_compile_options(hs_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
