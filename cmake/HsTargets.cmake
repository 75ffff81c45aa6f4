# hs_floor(NAME [PUBLIC libs...] [PRIVATE libs...] [SUBFOLDERS names...]): the static library of one
# folder, made of all its *.c files and those of the subfolders named. include/ goes to those above,
# the folder itself (private headers, those of a subfolder by its name) to nobody. A folder without
# sources still hands on its headers.
function(hs_floor name)
  cmake_parse_arguments(arg "" "" "PUBLIC;PRIVATE;SUBFOLDERS" ${ARGN})
  set(patterns *.c)
  foreach(folder ${arg_SUBFOLDERS})
    list(APPEND patterns ${folder}/*.c)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE include)
    target_link_libraries(${name} INTERFACE ${arg_PUBLIC})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC include)
  hs_quote(${name} "${CMAKE_CURRENT_SOURCE_DIR}")
  if(arg_SUBFOLDERS)
    set_target_properties(${name} PROPERTIES HS_QUOTED "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE hs_flags ${arg_PRIVATE})
endfunction()

# hs_quote(TARGET DIRECTORY): of our own headers alone, so that none stands before a system's.
function(hs_quote target directory)
  target_compile_options(${target} PRIVATE "SHELL:-iquote \"${directory}\"")
endfunction()

# hs_links(RET FILE...): the libraries named by first-line comments "/* links: a b c */".
function(hs_links ret)
  set(links "")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(STRINGS "${file}" lines LIMIT_COUNT 1)
    if(lines MATCHES "/\\* links:([^*]*)\\*/")
      separate_arguments(found UNIX_COMMAND "${CMAKE_MATCH_1}")
      list(APPEND links ${found})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES links)
  set(${ret} "${links}" PARENT_SCOPE)
endfunction()

# hs_link_tested(TARGET libs...): links, and shows the private headers of our own libraries too, as
# FOLDER/header.h. Headers in a subfolder name those above without it.
function(hs_link_tested target)
  set(seen "")
  foreach(lib ${ARGN})
    target_link_libraries(${target} PRIVATE ${lib})
    if(lib MATCHES "^hs_" AND TARGET ${lib})
      get_target_property(dir ${lib} SOURCE_DIR)
      get_filename_component(parent "${dir}" DIRECTORY)
      list(APPEND seen "${parent}")
      get_target_property(quoted ${lib} HS_QUOTED)
      if(quoted)
        list(APPEND seen "${quoted}")
      endif()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES seen)
  foreach(parent ${seen})
    hs_quote(${target} "${parent}")
  endforeach()
endfunction()

# hs_pkgconfig(TEMPLATE NAME): installs NAME.pc. Its paths begin at where the file itself is, so
# that a tree may be installed or moved anywhere: the template has them in @hs_pc_up@.
function(hs_pkgconfig template name)
  include(GNUInstallDirs)
  file(RELATIVE_PATH hs_pc_up "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
  string(REGEX REPLACE "/$" "" hs_pc_up "${hs_pc_up}")
  configure_file("${template}" "${CMAKE_BINARY_DIR}/bin/${name}.pc" @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/bin/${name}.pc"
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
