# Builds the library as a part of another project, which links the archive and the shared library. It is compiled
# without optimisation, because the test only checks that it builds. ctest runs this script with
# -DCHECK=add_subdirectory|fetch_content.
cmake_minimum_required(VERSION 3.22)
include(${SOURCE}/run.cmake)
set(work ${WORK}/${CHECK})
if(FLAGS MATCHES "-fsanitize")
  message("skipped: the same files compiled once more; a build without sanitizers does that")
  return()
endif()
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})

# Packs only the files from which the library is built.
set(from ${work}/linformer.tar.gz)
run(ignored ${CMAKE_COMMAND} -E chdir ${TREE} ${CMAKE_COMMAND} -E tar czf ${from}
  CMakeLists.txt runtime schema third_party)
# Both checks unpack it into the same folders, so that with ccache the second check compiles nothing.
set(ENV{CCACHE_BASEDIR} ${work})
set(ENV{CCACHE_NOHASHDIR} 1)
if(CHECK STREQUAL "add_subdirectory")
  set(unpacked ${work}/build/_deps/linformer-src)
  file(ARCHIVE_EXTRACT INPUT ${from} DESTINATION ${unpacked})
  set(from ${unpacked})
endif()
run(ignored ${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${work}/build -G ${GENERATOR} -DHOW=${CHECK}
  -DLINK=static,shared -DTREE=${from} -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX}
  -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} "-DCMAKE_C_FLAGS=-O0" "-DCMAKE_CXX_FLAGS=${FLAGS} -O0" ${dependencies})
run(ignored ${CMAKE_COMMAND} --build ${work}/build --parallel 2)
classify(${work}/build/consumer)
prints_the_version(${work}/build/version)

# The library must not add programs, tests, optional backends or installed files to the other project.
load_cache(${work}/build READ_WITH_PREFIX consumer_ LINFORMER_ONEDNN LINFORMER_OPENBLAS LINFORMER_CUDA
  LINFORMER_BUILD_CONVERTER LINFORMER_BUILD_APPS LINFORMER_BUILD_TESTS LINFORMER_INSTALL)
foreach(option ONEDNN OPENBLAS CUDA BUILD_CONVERTER BUILD_APPS BUILD_TESTS INSTALL)
  if(NOT consumer_LINFORMER_${option} STREQUAL "OFF")
    message(FATAL_ERROR "LINFORMER_${option} is '${consumer_LINFORMER_${option}}' in another project")
  endif()
endforeach()
run(ignored ${CMAKE_COMMAND} --install ${work}/build --prefix ${work}/prefix)
file(GLOB_RECURSE installed ${work}/prefix/*)
if(installed)
  message(FATAL_ERROR "the other project installs ${installed}")
endif()
run(tests ${CMAKE_CTEST_COMMAND} --test-dir ${work}/build -N)
if(NOT tests MATCHES "Total Tests: 0")
  message(FATAL_ERROR "the other project has tests of ours:\n${tests}")
endif()
