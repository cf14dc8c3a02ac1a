# Functions for the scripts of this folder and of tests/embedding.

# The paths at which this build found its libraries, as arguments for another configuration of the tree.
set(dependencies)
foreach(variable XSIMD_INCLUDE_DIR FLATBUFFERS_INCLUDE_DIR LINFORMER_FLATC XXHASH_INCLUDE_DIR UTF8PROC_INCLUDE_DIR
    UTF8PROC_LIBRARY)
  if(${variable})
    list(APPEND dependencies -D${variable}=${${variable}})
  endif()
endforeach()

# run(OUTPUT COMMAND...): sets OUTPUT to the command's standard output. If the command fails, the script stops and
# prints the output and the errors.
function(run output)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE error)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\ngave ${code}\n${text}${error}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

# needed_by(PROGRAM OUTPUT): sets OUTPUT to the shared libraries that the program needs.
function(needed_by program output)
  run(text ${READELF} -d ${program})
  string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*\\[[^]]+\\]" lines "${text}")
  list(TRANSFORM lines REPLACE "^.*\\[([^]]+)\\]$" "\\1")
  list(SORT lines)
  set(${output} "${lines}" PARENT_SCOPE)
endfunction()

# exported_by(LIBRARY OUTPUT): sets OUTPUT to the names that a shared library exports, including versions of symbols.
function(exported_by library output)
  run(text ${NM} -D --defined-only ${library})
  string(REGEX MATCHALL "[^ \n]+\n" names "${text}")
  list(TRANSFORM names REPLACE "(@.*)?\n$" "")
  list(SORT names)
  set(${output} "${names}" PARENT_SCOPE)
  string(REGEX MATCHALL " u [^\n]+" unique "${text}")
  if(unique)
    message(FATAL_ERROR "${library} is never unmapped, because it has symbols that are unique in a process: ${unique}")
  endif()
endfunction()

# Runs `program` with a random model and checks that it prints three probabilities.
function(classify program)
  run(ignored ${WRITE_MODEL} ${work}/model.lnfr)
  run(text ${program} ${work}/model.lnfr 4 5 6 7)
  string(REGEX MATCHALL "0\\.[0-9]+" probabilities "${text}")
  list(LENGTH probabilities count)
  if(NOT count EQUAL 3)
    message(FATAL_ERROR "expected three probabilities, not:\n${text}")
  endif()
  message("${CHECK}: ${probabilities}")
endfunction()

# prints_the_version(PROGRAM VARIABLE=VALUE...): checks the output of a program that was built from version.c. The
# variables are set in its environment.
function(prints_the_version program)
  run(text ${CMAKE_COMMAND} -E env ${ARGN} ${program})
  if(NOT text MATCHES "^${VERSION}, model files of version [1-9][0-9]*\n$")
    message(FATAL_ERROR "expected version ${VERSION}, not:\n${text}")
  endif()
  message("${CHECK}: ${text}")
endfunction()
