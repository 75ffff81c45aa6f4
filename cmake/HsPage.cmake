# hs_page_source(FILE CSS file... JS file...): C source with the texts of a page, made when the
# build is configured, and again when one of them has changed. As numbers: compilers limit how long
# a string may be, and no letter has to be escaped.
function(hs_page_array ret name)
  set(hex "")
  foreach(file ${ARGN})
    file(READ "${file}" part HEX)
    string(APPEND hex "${part}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  endforeach()
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  set(${ret} "const char ${name}[] = {${bytes}0};\n" PARENT_SCOPE)
endfunction()

function(hs_page_source output)
  cmake_parse_arguments(arg "" "" "CSS;JS" ${ARGN})
  hs_page_array(css hs_page_css ${arg_CSS})
  hs_page_array(js hs_page_js ${arg_JS})
  file(GENERATE OUTPUT "${output}" CONTENT "#include \"page_assets.h\"\n\n${css}${js}")
endfunction()
