# Compiles files of one target together. Most of the time that a small file takes goes to the headers that it includes,
# nlohmann/json's and CLI11's above all, so that a build from nothing takes half as long. Who changes single files can
# turn it off, and `bash tests/long.sh separate` checks that each file still compiles by itself.
option(LINFORMER_UNITY "Compile files of one target together, which halves the time of a build from nothing" ON)

# linformer_unity(TARGET [APART FILE...]): TARGET's files are compiled 24 together, in their order in the list. Files that
# have a UNITY_GROUP already keep it. Files after APART are compiled by themselves: they have a name in common with a
# neighbour. CMake does the same with files that have options of their own.
function(linformer_unity target)
  if(NOT LINFORMER_UNITY)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 given "" "" "APART")
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(count 0)
  foreach(source ${sources})
    if(IS_ABSOLUTE ${source})
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${folder})
    endif()
    get_source_file_property(chosen ${source} DIRECTORY ${folder} UNITY_GROUP)
    if(source IN_LIST given_APART)
      set_source_files_properties(${source} DIRECTORY ${folder} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    elseif(NOT chosen)
      math(EXPR group "${count} / 24")
      math(EXPR count "${count} + 1")
      set_source_files_properties(${source} DIRECTORY ${folder} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
  # A variable of one file may have the name of a function of another, which is no mistake. Nor is a type of an anonymous
  # namespace in a class that one file alone knows.
  set(ignored "#pragma GCC diagnostic ignored \"-Wshadow\"")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    string(APPEND ignored "\n#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"")
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
    UNITY_BUILD_CODE_BEFORE_INCLUDE "${ignored}")
  # GCC 12.2 removes stores of device_scratch() that are read later, when it is compiled for size together with the rest
  # of its layer: sessions on a device were refused. Without this pass it does not.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12 AND
     CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-ipa-modref>)
  endif()
endfunction()
