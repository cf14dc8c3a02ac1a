# The library as its users see it: one archive with every layer, linformer::linformer, in the tree and installed.
# The layers stay targets of their own so that the build keeps their order.
include(CMakePackageConfigHelpers)

set(objects)
foreach(layer base io kernels gemm model program cpu session text)
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

# What an application links besides the archive. Installed, each library is looked up again on the user's machine
# (linformer-config.cmake): no path of this one travels.
set(linformer_libraries utf8proc)
if(LINFORMER_ONEDNN)
  list(APPEND linformer_libraries dnnl)
endif()
if(LINFORMER_OPENBLAS)
  list(APPEND linformer_libraries openblas)
endif()
set(linformer_libs "-pthread")
foreach(library IN LISTS linformer_libraries)
  target_link_libraries(linformer PUBLIC
    $<BUILD_INTERFACE:third_party_${library}> $<INSTALL_INTERFACE:linformer::${library}>)
  string(PREPEND linformer_libs "-l${library} ")
endforeach()

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/linformer)
install(TARGETS linformer EXPORT linformer-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY include/linformer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
  FILES_MATCHING PATTERN "*.h")
install(EXPORT linformer-targets NAMESPACE linformer:: DESTINATION ${package_directory} COMPONENT library)
configure_package_config_file(linformer-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/linformer-config.cmake
  INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/linformer-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/linformer-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/linformer-config-version.cmake
  DESTINATION ${package_directory} COMPONENT library)
file(RELATIVE_PATH linformer_pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" linformer_pc_up "${linformer_pc_up}")
configure_file(linformer.pc.in ${CMAKE_CURRENT_BINARY_DIR}/linformer.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/linformer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
