# Compiles the files of each folder of TARGET as one, where LINFORMER_CONVERTER_UNITY says so: most of a file's time goes
# to nlohmann/json's header, and builds that are only tested once need not be changed quickly. Files after APART are
# compiled by themselves: they have a name in common with a neighbour.
option(LINFORMER_CONVERTER_UNITY "Compile each folder of the converter as one file" OFF)
function(linformer_unity target)
  if(NOT LINFORMER_CONVERTER_UNITY)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 given "" "" APART)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source ${sources})
    if(IS_ABSOLUTE ${source})
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${folder})
    endif()
    cmake_path(GET source PARENT_PATH group)
    if(NOT source IN_LIST given_APART)
      string(MAKE_C_IDENTIFIER "in_${group}" group)
      set_source_files_properties(${source} DIRECTORY ${folder} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
  # A variable of one file may have the name of a function of another, which is no mistake.
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
    UNITY_BUILD_CODE_BEFORE_INCLUDE "#pragma GCC diagnostic ignored \"-Wshadow\"")
endfunction()
