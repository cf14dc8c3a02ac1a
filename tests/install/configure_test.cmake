# Checks the errors of the configuration if libraries are missing, and a build with pinned libraries. ctest runs this
# script with -DCHECK=missing|missing_packages|fetched.
cmake_minimum_required(VERSION 3.22)
include(${SOURCE}/run.cmake)
set(work ${WORK}/${CHECK})
if(CHECK STREQUAL "fetched" AND "$ENV{LINFORMER_TEST_DEPS_DIR}" STREQUAL "")
  message("skipped: LINFORMER_TEST_DEPS_DIR names no folder with the archives of third_party/README.md")
  return()
endif()
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})

# With these options CMake finds no library of the system, except those whose paths are passed to it.
set(bare -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF)
set(library -DLINFORMER_BUILD_TESTS=OFF -DLINFORMER_BUILD_APPS=OFF -DLINFORMER_BUILD_CONVERTER=OFF)

# tree_configures(NAME CODE WORDS ARGUMENTS...): configures the tree, which must end with CODE and print WORDS. Sets
# `said` to everything that was printed.
function(tree_configures name expected words)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${TREE} -B ${work}/${name} -G ${GENERATOR} -DCMAKE_MAKE_PROGRAM=${MAKE}
    -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX} ${ARGN}
    RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  if(NOT code EQUAL expected OR NOT text MATCHES "${words}")
    message(FATAL_ERROR "${name} gave ${code} and not ${expected}, or didn't say '${words}':\n${text}")
  endif()
  message("${name}: ${code}, ${words}")
  set(said "${text}" PARENT_SCOPE)
endfunction()

# configures(NAME CODE WORDS ARGUMENTS...): like tree_configures(), but for the library alone and without libraries of
# the system.
function(configures name expected words)
  tree_configures(${name} ${expected} "${words}" ${bare} ${library} ${ARGN})
endfunction()

if(CHECK STREQUAL "missing")
  set(headers ${dependencies})
  list(FILTER headers EXCLUDE REGEX "XSIMD")
  configures(no_backends 0 "oneDNN was not found: linformer is built without it.*OpenBLAS was not found"
    ${dependencies})
  configures(onednn 1
    "dnnl.h, for the oneDNN backend: install libdnnl-dev, set DNNL_INCLUDE_DIR, .*-DLINFORMER_ONEDNN=OFF"
    ${dependencies} -DLINFORMER_ONEDNN=ON)
  configures(openblas 1 "cblas.h, for .*install libopenblas-openmp-dev, .*-DLINFORMER_OPENBLAS=OFF" ${dependencies}
    -DLINFORMER_OPENBLAS=ON)
  configures(bare 1 "flatbuffers.h, for .*flatc .*xxhash.h, for .*utf8proc.h, for .*-DLINFORMER_FETCH_DEPS=ON")
  configures(cuda 1 "nvcc .*https://developer.nvidia.com/cuda-downloads.*-DLINFORMER_CUDA=OFF" ${dependencies}
    -DLINFORMER_CUDA=ON)
  configures(no_xsimd_x86 1 "xsimd/xsimd.hpp, for the kernels: install libxsimd-dev, .*-DLINFORMER_FETCH_DEPS=ON"
    ${headers} -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=x86_64)
  configures(no_xsimd_scalar 0 "Generating done" ${headers} -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=riscv64)

  configures(no_such_kernels 1 "LINFORMER_KERNELS names \"avx3\": on x86_64 it may be all, or name scalar;avx2;avx512" ${dependencies}
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=x86_64 -DLINFORMER_KERNELS=avx3)
  configures(no_xsimd_wanted 0 "Generating done" ${headers} -DLINFORMER_KERNELS=scalar)
  configures(lonely_kernels 1 "names avx512, whose kernels need those for avx2: add avx2" ${dependencies}
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=x86_64 -DLINFORMER_KERNELS=avx512)

  file(MAKE_DIRECTORY ${work}/archives)
  set(fetch -DLINFORMER_FETCH_DEPS=ON -DLINFORMER_DEPS_DIR=${work}/archives)
  configures(no_archive 1 "has no xsimd-[0-9.]+.tar.gz: download https://" ${fetch}
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=x86_64)
  configures(no_xxhash 1 "has no xxHash-[0-9.]+.tar.gz" ${fetch} -DCMAKE_SYSTEM_NAME=Linux
    -DCMAKE_SYSTEM_PROCESSOR=riscv64)
  file(STRINGS ${TREE}/third_party/fetch.cmake archives REGEX "^ +[^ ]+\\.tar\\.gz [0-9a-f]+")
  list(TRANSFORM archives REPLACE "^ +([^ ]+) .*$" "\\1")
  foreach(archive IN LISTS archives)
    file(WRITE ${work}/archives/${archive} "not an archive")
  endforeach()
  configures(damaged 1 "has SHA-256 [0-9a-f]+ and not [0-9a-f]+: it is damaged" ${fetch})
  configures(damaged_there 1 "hash mismatch|SHA-?256" ${fetch} -DLINFORMER_DEPS_DIR=file://${work}/archives)

elseif(CHECK STREQUAL "missing_packages")
  # The CMake packages that programs and tests need are hidden one by one. With the options that the error then names,
  # the configuration must succeed.
  set(packages nlohmann_json nlohmann-json3-dev CLI11 libcli11-dev ZLIB zlib1g-dev doctest doctest-dev)
  set(hidden)
  set(all "because these are missing:")
  set(installs "apt-get install")
  while(packages)
    list(POP_FRONT packages package debian)
    set(line "${package} [0-9.]+ or newer, for [^:]+: install ${debian}, or build [^:]+:( -DLINFORMER_[A-Z_]+=OFF)+")
    set(hide -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
    tree_configures(no_${package} 1 "missing: ${line} On Debian and Ubuntu: apt-get install ${debian} " ${hide}
      -DLINFORMER_BUILD_TESTS=ON)
    string(REGEX MATCHALL "-DLINFORMER_[A-Z_]+=OFF" advice "${said}")
    tree_configures(without_${package} 0 "Generating done" ${hide} -DLINFORMER_BUILD_TESTS=ON ${advice})
    list(APPEND hidden ${hide})
    string(APPEND all " ${line}")
    string(APPEND installs " ${debian}")
  endwhile()
  tree_configures(no_packages 1 "${all} On Debian and Ubuntu: ${installs} " ${hidden} -DLINFORMER_BUILD_TESTS=ON)
  # Without -DLINFORMER_BUILD_TESTS=ON a missing doctest isn't an error.
  tree_configures(no_tests 0 "doctest was not found: tests are not built .*Generating done"
    -DCMAKE_DISABLE_FIND_PACKAGE_doctest=ON)

elseif(CHECK STREQUAL "fetched")
  # LINFORMER_TEST_XSIMD_SOURCE may name an unpacked xsimd, which replaces its archive.
  set(sources)
  if(NOT "$ENV{LINFORMER_TEST_XSIMD_SOURCE}" STREQUAL "")
    set(sources -DFETCHCONTENT_SOURCE_DIR_LINFORMER_XSIMD=$ENV{LINFORMER_TEST_XSIMD_SOURCE})
  endif()
  configures(build 0 "Generating done" ${sources} -DLINFORMER_FETCH_DEPS=ON
    -DLINFORMER_DEPS_DIR=$ENV{LINFORMER_TEST_DEPS_DIR} "-DCMAKE_CXX_FLAGS=${FLAGS} -O0" -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
  run(ignored ${CMAKE_COMMAND} --build ${work}/build --parallel 2)
  run(ignored ${CMAKE_COMMAND} --install ${work}/build --prefix ${work}/prefix)
  # The project that uses the installed library finds none of these libraries in the system either.
  run(ignored ${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${work}/consumer -G ${GENERATOR} -DCMAKE_MAKE_PROGRAM=${MAKE} ${bare}
    -DHOW=find_package -DLINK=static,shared -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_C_COMPILER=${CC}
    -DCMAKE_CXX_COMPILER=${CXX})
  run(ignored ${CMAKE_COMMAND} --build ${work}/consumer)
  classify(${work}/consumer/consumer)
  prints_the_version(${work}/consumer/version)
  exported_by(${work}/consumer/libplugin.so exports)
  if(NOT exports STREQUAL "plugin_classify")
    message(FATAL_ERROR "a plugin with the archive exports ${exports}")
  endif()
endif()
