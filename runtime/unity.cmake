# Compiles the files of a target together. A small file takes most of its compilation time for the headers that it
# includes, above all those of nlohmann/json and CLI11, so that a build from nothing takes less than half the time. Turn
# LINFORMER_UNITY off if you change single files. `bash tests/long.sh separate` checks that each file still compiles by
# itself.
option(LINFORMER_UNITY "Compile files of one target together, which halves the time of a build from nothing" ON)

# linformer_unity(TARGET [APART FILE...]): compiles the files of TARGET in groups of 24, in their order in the list. A
# file that already has a UNITY_GROUP stays in that group. The files after APART are compiled one by one, because they
# define the same name as another file of their group. CMake also compiles files with options of their own one by one.
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
  # Two warnings make no sense if CMake includes all files of a group in one file: that a variable has the name of a
  # function (which another file defines), and that a class has a member whose type is in an anonymous namespace.
  set(ignored "#pragma GCC diagnostic ignored \"-Wshadow\"")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    string(APPEND ignored "\n#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"")
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
    UNITY_BUILD_CODE_BEFORE_INCLUDE "${ignored}")
  # When GCC 12.2 compiles lay_out_device_scratch() for size together with the rest of its layer, it removes stores
  # whose values are read later, and sessions on a device are refused (the test cuda_simulated fails). The option below
  # turns off the pass that causes this. GCC has the pass since version 11, and it is not known which versions have the
  # fault.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 11)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-ipa-modref>)
  endif()
endfunction()
