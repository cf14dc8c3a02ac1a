# Makes one interface target for each library that the project uses. README.md gives the versions and the reasons. A
# library is looked up only if a part that needs it is built.
find_package(Threads REQUIRED)

# linformer_header(VARIABLE HEADER PURPOSE PACKAGE OTHERWISE [ARGUMENTS of find_path]...) finds the folder of HEADER and
# stores it in the cache as VARIABLE. It does not use CMake packages, because a package that was installed for one
# architecture refuses to be used for another. linformer_missing() explains PURPOSE, PACKAGE and OTHERWISE.
function(linformer_header variable header purpose package otherwise)
  find_path(${variable} ${header} ${ARGN})
  if(NOT ${variable})
    linformer_missing(${header} "${purpose}" ${package} "set ${variable}, ${otherwise}")
  endif()
endfunction()

# linformer_package(NAME VERSION PURPOSE PACKAGE OTHERWISE) finds a library by its CMake package, of VERSION or newer.
function(linformer_package name version purpose package otherwise)
  find_package(${name} ${version} QUIET)
  if(NOT ${name}_FOUND)
    linformer_missing("${name} ${version} or newer" "${purpose}" ${package} "${otherwise}")
  endif()
endfunction()

# Only the kernels for x86-64 and AArch64 are written with xsimd. Other targets have scalar kernels.
set(linformer_needs_xsimd OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|aarch64|arm64" AND NOT "${LINFORMER_KERNELS}" STREQUAL "scalar")
  set(linformer_needs_xsimd ON)
endif()
if(NOT LINFORMER_FETCH_DEPS)
  include(${CMAKE_CURRENT_LIST_DIR}/system.cmake)
endif()
if(LINFORMER_ONEDNN)
  # Debian's CMake package of oneDNN is not used, because it requires OpenCL headers, which are not needed here.
  linformer_header(DNNL_INCLUDE_DIR dnnl.h "the oneDNN backend" libdnnl-dev
    "or build without it: -DLINFORMER_ONEDNN=OFF")
  find_library(DNNL_LIBRARY dnnl)
endif()
if(LINFORMER_OPENBLAS)
  # The OpenMP build is preferred, because only there each thread of a session can compute a GEMM by itself. The other
  # builds work too (runtime/gemm/README.md).
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
add_library(third_party_xxhash INTERFACE)  # Only the header is used, with XXH_INLINE_ALL.
target_include_directories(third_party_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
add_library(third_party_utf8proc INTERFACE)
target_include_directories(third_party_utf8proc SYSTEM INTERFACE ${UTF8PROC_INCLUDE_DIR})
target_link_libraries(third_party_utf8proc INTERFACE ${UTF8PROC_LIBRARY})

# The libraries of backends are not linked but opened at run time, so the build needs only their headers. If CMake finds
# a backend's library, too, the runtime first tries to open the library in that folder. Otherwise it is opened only from
# the folders that the system searches. linformer_opened_library(TARGET NAME FILE) defines the folder of FILE as the
# macro LINFORMER_NAME_FOLDER.
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
