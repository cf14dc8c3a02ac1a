# The library as its users see it: one archive with every layer, linformer::linformer, in the tree and installed.
# The layers stay targets of their own so that the build keeps their order.
include(CMakePackageConfigHelpers)

set(objects)
set(layers base io kernels gemm model program cpu session text)
if(LINFORMER_CUDA)
  list(APPEND layers cuda)
endif()
foreach(layer ${layers})
  list(APPEND objects $<TARGET_OBJECTS:linformer_${layer}>)
endforeach()
add_library(linformer STATIC ${objects})
add_library(linformer::linformer ALIAS linformer)
set_target_properties(linformer PROPERTIES LINKER_LANGUAGE CXX)
target_compile_features(linformer PUBLIC cxx_std_20)
target_include_directories(linformer PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(linformer PUBLIC Threads::Threads)

# What an application links besides the archive. Installed, utf8proc is looked up again on the user's machine
# (linformer-config.cmake): the same kind of library by its file name, and the same version, since its tables decide what
# a text's tokens are.
get_filename_component(utf8proc_file ${UTF8PROC_LIBRARY} NAME)
include(utf8proc_version.cmake)
linformer_utf8proc_version(${UTF8PROC_INCLUDE_DIR} utf8proc_version)
target_link_libraries(linformer PUBLIC
  $<BUILD_INTERFACE:third_party_utf8proc> $<INSTALL_INTERFACE:linformer::utf8proc>)
set(linformer_libs "-lutf8proc -pthread")
if(utf8proc_file MATCHES "\\.a$")
  set(linformer_libs "-l:${utf8proc_file} -pthread")  # -lutf8proc would take the shared library
endif()
if(LINFORMER_CUDA)
  target_link_libraries(linformer PUBLIC CUDA::cudart_static)
  string(APPEND linformer_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl")
elseif(CMAKE_DL_LIBS AND (LINFORMER_ONEDNN OR LINFORMER_OPENBLAS))
  target_link_libraries(linformer PUBLIC ${CMAKE_DL_LIBS})  # backends' libraries are opened at run time
  string(APPEND linformer_libs " -l${CMAKE_DL_LIBS}")
endif()

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/linformer)
install(TARGETS linformer EXPORT linformer-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY include/linformer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
  FILES_MATCHING PATTERN "*.h")
install(EXPORT linformer-targets NAMESPACE linformer:: DESTINATION ${package_directory} COMPONENT library)
configure_package_config_file(linformer-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/linformer-config.cmake
  INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/linformer-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/linformer-config.cmake utf8proc_version.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/linformer-config-version.cmake
  DESTINATION ${package_directory} COMPONENT library)
file(RELATIVE_PATH linformer_pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" linformer_pc_up "${linformer_pc_up}")
configure_file(linformer.pc.in ${CMAKE_CURRENT_BINARY_DIR}/linformer.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/linformer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
