# Fetches the libraries that the runtime needs, in pinned versions (fetch_function.cmake).
if(linformer_needs_xsimd)
  linformer_fetch(xsimd https://github.com/xtensor-stack/xsimd/archive/refs/tags/13.2.0.tar.gz
    xsimd-13.2.0.tar.gz edd8cd3d548c185adc70321c53c36df41abe64c1fe2c67bc6d93c3ecda82447a
    xsimd_13.2.0.orig.tar.gz edd8cd3d548c185adc70321c53c36df41abe64c1fe2c67bc6d93c3ecda82447a)
  set(XSIMD_INCLUDE_DIR ${xsimd_SOURCE}/include)
endif()

linformer_fetch(xxhash https://github.com/Cyan4973/xxHash/archive/refs/tags/v0.8.3.tar.gz
  xxHash-0.8.3.tar.gz aae608dfe8213dfd05d909a57718ef82f30722c392344583d3f39050c7f29a80
  xxhash_0.8.3.orig.tar.gz aae608dfe8213dfd05d909a57718ef82f30722c392344583d3f39050c7f29a80)
set(XXHASH_INCLUDE_DIR ${xxhash_SOURCE})

# utf8proc becomes a part of the library, and its functions are hidden there. Without UTF8PROC_STATIC they would be
# visible.
linformer_fetch(utf8proc https://github.com/JuliaStrings/utf8proc/archive/refs/tags/v2.8.0.tar.gz
  utf8proc-2.8.0.tar.gz a0a60a79fe6f6d54e7d411facbfcc867a6e198608f2cd992490e46f04b1bcecc
  utf8proc_2.8.0.orig.tar.gz a0a60a79fe6f6d54e7d411facbfcc867a6e198608f2cd992490e46f04b1bcecc)
set(UTF8PROC_INCLUDE_DIR ${utf8proc_SOURCE})
add_library(linformer_utf8proc STATIC ${utf8proc_SOURCE}/utf8proc.c)
target_compile_definitions(linformer_utf8proc PUBLIC UTF8PROC_STATIC)
set_target_properties(linformer_utf8proc PROPERTIES C_VISIBILITY_PRESET hidden)
set(UTF8PROC_LIBRARY linformer_utf8proc)

# The second archive is Debian's. It is upstream's archive without two .jar files of Gradle.
set(flatbuffers_version 23.5.26)
linformer_fetch(flatbuffers https://github.com/google/flatbuffers/archive/refs/tags/v${flatbuffers_version}.tar.gz
  flatbuffers-23.5.26.tar.gz 1cce06b17cddd896b6d73cc047e36a254fb8df4d7ea18a46acf16c4c0cd3f3f3
  flatbuffers_23.5.26+dfsg.orig.tar.xz 0d309fd2c47bbbebd450e68d1419c336d53d1b8f5ce47e1f1f7f28f452fc6f3b)
set(FLATBUFFERS_INCLUDE_DIR ${flatbuffers_SOURCE}/include)

# flatc writes headers that fit only its own version of FlatBuffers. It must run on this machine, also in cross builds.
find_program(LINFORMER_FLATC flatc)
set(flatc_says "")
if(LINFORMER_FLATC)
  execute_process(COMMAND ${LINFORMER_FLATC} --version OUTPUT_VARIABLE flatc_says ERROR_QUIET)
endif()
if(NOT flatc_says MATCHES "version ${flatbuffers_version}[ \n]*$")
  include(ExternalProject)
  set(flatc_options -DCMAKE_BUILD_TYPE=Release -DFLATBUFFERS_BUILD_TESTS=OFF -DFLATBUFFERS_BUILD_FLATLIB=OFF
    -DFLATBUFFERS_BUILD_FLATHASH=OFF -DFLATBUFFERS_INSTALL=OFF)
  foreach(variable CMAKE_C_COMPILER CMAKE_CXX_COMPILER CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER)
    if(${variable} AND (NOT CMAKE_CROSSCOMPILING OR variable MATCHES "LAUNCHER"))
      list(APPEND flatc_options -D${variable}=${${variable}})
    endif()
  endforeach()
  set(flatc_folder ${PROJECT_BINARY_DIR}/flatc)
  set(LINFORMER_FLATC ${flatc_folder}/flatc)
  ExternalProject_Add(linformer_flatc SOURCE_DIR ${flatbuffers_SOURCE} BINARY_DIR ${flatc_folder}
    CMAKE_ARGS ${flatc_options} BUILD_COMMAND ${CMAKE_COMMAND} --build <BINARY_DIR> --target flatc --config Release
    INSTALL_COMMAND "" TEST_COMMAND "" BUILD_BYPRODUCTS ${LINFORMER_FLATC} EXCLUDE_FROM_ALL ON)
endif()
