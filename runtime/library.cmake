# Defines the targets that users of the library link, from this build or from an installation. linformer::linformer is a
# static library with all layers, and linformer::shared is a shared library that exports only the C API. Each layer is
# also a target of its own, so that a layer can link only to lower layers.
include(CheckLinkerFlag)

set(linformer_objects)
set(layers base io kernels gemm model program cpu session text pipeline)
if(LINFORMER_CUDA)
  list(APPEND layers cuda)
endif()
foreach(layer ${layers})
  list(APPEND linformer_objects $<TARGET_OBJECTS:linformer_${layer}>)
endforeach()
if(TARGET linformer_utf8proc)  # If utf8proc was downloaded, it becomes part of the library.
  list(APPEND linformer_objects $<TARGET_OBJECTS:linformer_utf8proc>)
endif()

# What an application links in addition to the static library. The libraries of backends are opened at run time.
set(linformer_needs Threads::Threads)
if(LINFORMER_CUDA)
  list(APPEND linformer_needs CUDA::cudart_static)
elseif(CMAKE_DL_LIBS AND (LINFORMER_ONEDNN OR LINFORMER_OPENBLAS))
  list(APPEND linformer_needs ${CMAKE_DL_LIBS})
endif()

# The libraries that a C++ compiler links by default (GCC: stdc++ and m). A program in C must name them.
set(linformer_cxx_libraries ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
if(CMAKE_C_IMPLICIT_LINK_LIBRARIES)
  list(REMOVE_ITEM linformer_cxx_libraries ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
endif()
list(REMOVE_DUPLICATES linformer_cxx_libraries)
list(FILTER linformer_cxx_libraries INCLUDE REGEX "^[A-Za-z0-9_+-]+$")  # Drops paths of this machine.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND NOT MSVC AND NOT "${linformer_cxx_libraries}" MATCHES "c\\+\\+")
  list(APPEND linformer_cxx_libraries c++)  # zig links clang's C++ library by its files. Its name is c++.
endif()

add_library(linformer STATIC ${linformer_objects} $<TARGET_OBJECTS:linformer_c_api>)
add_library(linformer::linformer ALIAS linformer)
set_target_properties(linformer PROPERTIES LINKER_LANGUAGE CXX)
target_compile_features(linformer PUBLIC cxx_std_20)
target_include_directories(linformer PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/c_api>)
target_link_libraries(linformer PUBLIC ${linformer_needs})
if(NOT TARGET linformer_utf8proc)
  target_link_libraries(linformer PUBLIC
    $<BUILD_INTERFACE:third_party_utf8proc> $<INSTALL_INTERFACE:linformer::utf8proc>)
endif()
foreach(library IN LISTS linformer_cxx_libraries)
  target_link_libraries(linformer INTERFACE $<$<NOT:$<LINK_LANGUAGE:CXX>>:${library}>)
endforeach()

# A shared library (a plugin, for example) that links the static library must not export its functions, nor those of
# utf8proc, which are declared with default visibility.
check_linker_flag(CXX LINKER:--exclude-libs,libutf8proc.a LINFORMER_LINKER_EXCLUDES_LIBRARIES)
set(linformer_hiding_options)
if(LINFORMER_LINKER_EXCLUDES_LIBRARIES)
  set(linformer_hiding_options --exclude-libs,liblinformer.a:libutf8proc.a)
  target_link_options(linformer INTERFACE LINKER:${linformer_hiding_options})
endif()

get_property(shared_libraries GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS)
if(NOT shared_libraries)
  return()
endif()

# If another project includes this one, the shared library is built only if a target links it. The minor version is part
# of SOVERSION, because in 0.x each minor version has its own ABI.
add_library(linformer_shared SHARED ${linformer_objects} $<TARGET_OBJECTS:linformer_c_api_shared>)
add_library(linformer::shared ALIAS linformer_shared)
set_target_properties(linformer_shared PROPERTIES
  OUTPUT_NAME linformer EXPORT_NAME shared LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/c_api/exports.map)
if(NOT LINFORMER_INSTALL)
  set_target_properties(linformer_shared PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
target_include_directories(linformer_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/c_api>)
target_compile_definitions(linformer_shared INTERFACE LNF_SHARED)
target_link_libraries(linformer_shared PRIVATE ${linformer_needs} $<BUILD_INTERFACE:third_party_utf8proc>)

# If the linker can: the shared library exports only the listed names, drops sections that no export needs, and has no
# undefined symbols.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/check.map "{ local: *; };\n")
check_linker_flag(CXX LINKER:--version-script=${CMAKE_CURRENT_BINARY_DIR}/check.map LINFORMER_LINKER_READS_EXPORTS)
check_linker_flag(CXX LINKER:--gc-sections LINFORMER_LINKER_COLLECTS_SECTIONS)
check_linker_flag(CXX LINKER:--no-undefined,-z,defs LINFORMER_LINKER_REFUSES_UNDEFINED)
if(LINFORMER_LINKER_READS_EXPORTS)
  target_link_options(linformer_shared PRIVATE
    LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/c_api/exports.map)
endif()
if(LINFORMER_LINKER_COLLECTS_SECTIONS)
  target_link_options(linformer_shared PRIVATE LINKER:--gc-sections)
endif()
# With clang, the functions of sanitizers are undefined in a shared library, because the program contains them.
if(LINFORMER_LINKER_REFUSES_UNDEFINED AND NOT LINFORMER_FUZZ AND
    NOT (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize"))
  target_link_options(linformer_shared PRIVATE LINKER:--no-undefined,-z,defs)
endif()
