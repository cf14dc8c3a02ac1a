# The library as its users see it, in the tree and installed: linformer::linformer is one archive with every layer,
# linformer::shared a shared library with the C API alone. The layers stay targets of their own so that the build keeps
# their order.
include(CheckLinkerFlag)

set(linformer_objects)
set(layers base io kernels gemm model program cpu session text pipeline)
if(LINFORMER_CUDA)
  list(APPEND layers cuda)
endif()
foreach(layer ${layers})
  list(APPEND linformer_objects $<TARGET_OBJECTS:linformer_${layer}>)
endforeach()
if(TARGET linformer_utf8proc)  # fetched: part of the library
  list(APPEND linformer_objects $<TARGET_OBJECTS:linformer_utf8proc>)
endif()

# What an application links besides the archive. Backends' libraries are opened at run time.
set(linformer_needs Threads::Threads)
if(LINFORMER_CUDA)
  list(APPEND linformer_needs CUDA::cudart_static)
elseif(CMAKE_DL_LIBS AND (LINFORMER_ONEDNN OR LINFORMER_OPENBLAS))
  list(APPEND linformer_needs ${CMAKE_DL_LIBS})
endif()

# What a C++ linker adds by itself (with GCC stdc++ and m), and a program in C must name.
set(linformer_cxx_libraries ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
if(CMAKE_C_IMPLICIT_LINK_LIBRARIES)
  list(REMOVE_ITEM linformer_cxx_libraries ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
endif()
list(REMOVE_DUPLICATES linformer_cxx_libraries)
list(FILTER linformer_cxx_libraries INCLUDE REGEX "^[A-Za-z0-9_+-]+$")  # names, not files of this machine
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND NOT MSVC AND NOT "${linformer_cxx_libraries}" MATCHES "c\\+\\+")
  list(APPEND linformer_cxx_libraries c++)  # zig links the files of clang's library, and knows it by this name
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

# A plugin that links the archive exports nothing of it, nor of utf8proc, whose own functions are visible.
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

# In the parent's own build it is made when something links it.
add_library(linformer_shared SHARED ${linformer_objects} $<TARGET_OBJECTS:linformer_c_api_shared>)
add_library(linformer::shared ALIAS linformer_shared)
set_target_properties(linformer_shared PROPERTIES
  OUTPUT_NAME linformer EXPORT_NAME shared LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}  # 0.x: the minor is the ABI
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/c_api/exports.map)
if(NOT LINFORMER_INSTALL)
  set_target_properties(linformer_shared PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
target_include_directories(linformer_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/c_api>)
target_compile_definitions(linformer_shared INTERFACE LNF_SHARED)
target_link_libraries(linformer_shared PRIVATE ${linformer_needs} $<BUILD_INTERFACE:third_party_utf8proc>)

# Its exports by name, nothing undefined, no section that no export needs; where the linker knows how.
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
# Clang's sanitizers stay undefined in a shared library: the program has them.
if(LINFORMER_LINKER_REFUSES_UNDEFINED AND NOT LINFORMER_FUZZ AND
    NOT (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize"))
  target_link_options(linformer_shared PRIVATE LINKER:--no-undefined,-z,defs)
endif()
