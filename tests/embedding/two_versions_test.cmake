# Compiles the library again in another namespace, as if it were a later version, and a program that links both
# archives. The second version isn't optimised, because only the linking matters. ctest runs this script.
cmake_minimum_required(VERSION 3.22)
include(${SOURCE}/run.cmake)
set(work ${WORK}/two_versions)
if(FLAGS MATCHES "-fsanitize")
  message("skipped: the same files compiled once more; a build without sanitizers does that")
  return()
endif()
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
set(other -DLINFORMER_VERSION_NAMESPACE=v0_2_test)

run(ignored ${CMAKE_COMMAND} -S ${TREE} -B ${work}/build -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC}
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} "-DCMAKE_CXX_FLAGS=${FLAGS} -O0 ${other}"
  -DCMAKE_BUILD_TYPE=None -DLINFORMER_BUILD_TESTS=OFF -DLINFORMER_BUILD_APPS=OFF -DLINFORMER_BUILD_CONVERTER=OFF
  -DLINFORMER_ONEDNN=OFF -DLINFORMER_OPENBLAS=OFF -DLINFORMER_INSTALL=OFF ${dependencies})
run(ignored ${CMAKE_COMMAND} --build ${work}/build --target linformer --parallel 2)
set(second ${work}/build/runtime/liblinformer.a)

# No name of code or data may be defined in both archives. The functions of the C API are exempt, because they are the
# only names without a namespace, and a program links them from one archive only.
function(defines archive output)
  run(text ${NM} --defined-only ${archive})
  string(REGEX MATCHALL " [TDBRGS] [^\n]+" names "${text}")
  list(TRANSFORM names REPLACE "^ . " "")
  list(FILTER names EXCLUDE REGEX "^lnf_")
  list(LENGTH names count)
  if(count LESS 100)
    message(FATAL_ERROR "only ${count} names in ${archive}: this check sees nothing")
  endif()
  set(${output} "${names}" PARENT_SCOPE)
endfunction()
defines(${ARCHIVE} first_names)
defines(${second} second_names)
foreach(name IN LISTS second_names)
  if(name IN_LIST first_names)
    list(APPEND both ${name})
  endif()
endforeach()
if(both)
  message(FATAL_ERROR "in both versions, and so outside of their namespaces: ${both}")
endif()

separate_arguments(flags UNIX_COMMAND "${FLAGS}")
set(compile ${CXX} ${flags} -std=c++20 -I${TREE}/runtime/include -I${TREE}/tests/embedding -c)
run(ignored ${compile} ${TREE}/tests/embedding/two_versions_use.cc -DUSE=run_first_version -o ${work}/first.o)
run(ignored ${compile} ${TREE}/tests/embedding/two_versions_use.cc -DUSE=run_second_version ${other} -o ${work}/second.o)
run(ignored ${compile} ${TREE}/tests/embedding/two_versions.cc -o ${work}/main.o)
run(ignored ${CXX} ${flags} -o ${work}/both ${work}/main.o ${work}/first.o ${work}/second.o ${ARCHIVE} ${second}
  ${UTF8PROC_LIBRARY} -pthread -ldl)
run(ignored ${WRITE_MODEL} ${work}/model.lnfr)
run(text ${work}/both ${work}/model.lnfr)
message("${text}")
