# One interface target for each library that the project uses; README.md says which versions and why.
# A library is looked up only when a part that needs it is built.
find_package(Threads REQUIRED)

# linformer_header(VARIABLE HEADER PURPOSE PACKAGE OTHERWISE [ARGUMENTS of find_path]...): the folder of HEADER, in the
# cache as VARIABLE. Headers are looked up as headers: a CMake package is installed for one architecture and refuses to
# be used for another.
function(linformer_header variable header purpose package otherwise)
  find_path(${variable} ${header} ${ARGN})
  if(NOT ${variable})
    linformer_missing(${header} "${purpose}" ${package} "set ${variable}, ${otherwise}")
  endif()
endfunction()

# linformer_package(NAME VERSION PURPOSE PACKAGE OTHERWISE): a library with a CMake package, of VERSION or newer.
function(linformer_package name version purpose package otherwise)
  find_package(${name} ${version} QUIET)
  if(NOT ${name}_FOUND)
    linformer_missing("${name} ${version} or newer" "${purpose}" ${package} "${otherwise}")
  endif()
endfunction()

# Of the kernels, only those of instruction sets are written with xsimd; other targets have scalar ones.
set(linformer_needs_xsimd OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|aarch64|arm64" AND NOT "${LINFORMER_KERNELS}" STREQUAL "scalar")
  set(linformer_needs_xsimd ON)
endif()
if(NOT LINFORMER_FETCH_DEPS)
  include(${CMAKE_CURRENT_LIST_DIR}/system.cmake)
endif()
if(LINFORMER_ONEDNN)
  # Not through its CMake package: Debian's asks for OpenCL headers that nothing here uses.
  linformer_header(DNNL_INCLUDE_DIR dnnl.h "the oneDNN backend" libdnnl-dev
    "or build without it: -DLINFORMER_ONEDNN=OFF")
  find_library(DNNL_LIBRARY dnnl)
endif()
if(LINFORMER_OPENBLAS)
  # The OpenMP build is preferred: it alone lets each of the session's threads multiply on its own. The others work
  # too (runtime/gemm/README.md).
  linformer_header(OPENBLAS_INCLUDE_DIR cblas.h "the OpenBLAS backend" libopenblas-openmp-dev
    "or build without it: -DLINFORMER_OPENBLAS=OFF" PATH_SUFFIXES ${linformer_openblas_folders} openblas)
  find_library(OPENBLAS_LIBRARY NAMES openblas PATH_SUFFIXES ${linformer_openblas_folders})
endif()
if(NOT LINFORMER_FETCH_PROGRAM_DEPS)
  include(${CMAKE_CURRENT_LIST_DIR}/system_programs.cmake)
endif()
linformer_stop_at_missing()
if(LINFORMER_FETCH_DEPS OR LINFORMER_FETCH_PROGRAM_DEPS)
  include(${CMAKE_CURRENT_LIST_DIR}/fetch_function.cmake)
endif()
if(LINFORMER_FETCH_DEPS)
  include(${CMAKE_CURRENT_LIST_DIR}/fetch.cmake)
endif()
if(LINFORMER_FETCH_PROGRAM_DEPS)
  include(${CMAKE_CURRENT_LIST_DIR}/fetch_programs.cmake)
endif()

if(linformer_needs_xsimd)
  add_library(third_party_xsimd INTERFACE)
  target_include_directories(third_party_xsimd SYSTEM INTERFACE ${XSIMD_INCLUDE_DIR})
endif()
add_library(third_party_flatbuffers INTERFACE)
target_include_directories(third_party_flatbuffers SYSTEM INTERFACE ${FLATBUFFERS_INCLUDE_DIR})
add_library(third_party_xxhash INTERFACE)  # header only: XXH_INLINE_ALL
target_include_directories(third_party_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
add_library(third_party_utf8proc INTERFACE)
target_include_directories(third_party_utf8proc SYSTEM INTERFACE ${UTF8PROC_INCLUDE_DIR})
target_link_libraries(third_party_utf8proc INTERFACE ${UTF8PROC_LIBRARY})

# Libraries of backends are opened at run time, not linked: of the build they need the headers, and the folder where
# they are looked for first. Without a library here, they are looked for only where the system looks.
# linformer_opened_library(TARGET NAME FILE): FILE's folder as a macro, LINFORMER_NAME_FOLDER.
function(linformer_opened_library target name file)
  if(file)
    get_filename_component(folder ${file} DIRECTORY)
    target_compile_definitions(${target} INTERFACE LINFORMER_${name}_FOLDER="${folder}")
  endif()
endfunction()

if(LINFORMER_ONEDNN)
  add_library(third_party_dnnl INTERFACE)
  target_include_directories(third_party_dnnl SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
  linformer_opened_library(third_party_dnnl ONEDNN "${DNNL_LIBRARY}")
endif()

if(LINFORMER_OPENBLAS)
  add_library(third_party_openblas INTERFACE)
  target_include_directories(third_party_openblas SYSTEM INTERFACE ${OPENBLAS_INCLUDE_DIR})
  linformer_opened_library(third_party_openblas OPENBLAS "${OPENBLAS_LIBRARY}")
endif()

if(LINFORMER_BUILD_TESTS)
  find_path(SENTENCEPIECE_INCLUDE_DIR sentencepiece_processor.h)
  find_library(SENTENCEPIECE_LIBRARY sentencepiece)
  if(SENTENCEPIECE_INCLUDE_DIR AND SENTENCEPIECE_LIBRARY)
    add_library(third_party_sentencepiece INTERFACE)
    target_include_directories(third_party_sentencepiece SYSTEM INTERFACE ${SENTENCEPIECE_INCLUDE_DIR})
    target_link_libraries(third_party_sentencepiece INTERFACE ${SENTENCEPIECE_LIBRARY})
  else()
    message(STATUS "sentencepiece is not installed: unigram tokenizers are tested without it (libsentencepiece-dev)")
  endif()
endif()
