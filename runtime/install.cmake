# Installs both libraries, their headers, a CMake package and files for pkg-config. A program that links the shared
# library needs the component `shared` when it runs. To build such a program, `development` is needed too, and its files
# refer to those of `shared`. The programs of apps/ and their manual pages are in the component `programs`
# (apps/common/help/manual.cmake).
include(CMakePackageConfigHelpers)

# The installed CMake package looks for utf8proc on the user's machine (linformer-config.cmake). It takes only a library
# with the same file name and the same version, because the tables of utf8proc decide which tokens a text has.
set(linformer_libs "")
set(utf8proc_file "")
if(NOT TARGET linformer_utf8proc)
  get_filename_component(utf8proc_file ${UTF8PROC_LIBRARY} NAME)
  include(utf8proc_version.cmake)
  linformer_utf8proc_version(${UTF8PROC_INCLUDE_DIR} utf8proc_version)
  set(linformer_libs " -lutf8proc")
  if(utf8proc_file MATCHES "\\.a$")
    set(linformer_libs " -l:${utf8proc_file}")  # -lutf8proc would link the shared library.
  endif()
endif()
string(APPEND linformer_libs " -pthread")
if(LINFORMER_CUDA)
  string(APPEND linformer_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl")
elseif(CMAKE_DL_LIBS IN_LIST linformer_needs)
  string(APPEND linformer_libs " -l${CMAKE_DL_LIBS}")
endif()
foreach(library IN LISTS linformer_cxx_libraries)
  string(APPEND linformer_libs " -l${library}")
endforeach()
if(linformer_hiding_options)
  string(APPEND linformer_libs " -Wl,${linformer_hiding_options}")
endif()

# On Windows the import library is named by its path, because some linkers take the static library for -llinformer.
set(linformer_shared_link "-L\${libdir} -llinformer")
if(WIN32)
  set(linformer_shared_link "\${libdir}/${CMAKE_IMPORT_LIBRARY_PREFIX}linformer${CMAKE_IMPORT_LIBRARY_SUFFIX}")
endif()

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/linformer)
set(pkg_config_directory ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH linformer_pc_up /${pkg_config_directory} /)
string(REGEX REPLACE "/$" "" linformer_pc_up "${linformer_pc_up}")

# The static and the shared library have separate CMake target files, because a project that links the shared library
# needs no utf8proc.
foreach(kind static shared)
  set(target linformer_shared)
  set(pc_file linformer-shared.pc)
  if(kind STREQUAL "static")
    set(target linformer)
    set(pc_file linformer.pc)
  elseif(NOT TARGET linformer_shared)
    continue()
  endif()
  install(TARGETS ${target} EXPORT linformer-${kind}-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT shared NAMELINK_COMPONENT development
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT shared
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT linformer-${kind}-targets NAMESPACE linformer:: DESTINATION ${package_directory}
    COMPONENT development)
  configure_file(${pc_file}.in ${CMAKE_CURRENT_BINARY_DIR}/${pc_file} @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${pc_file} DESTINATION ${pkg_config_directory} COMPONENT development)
endforeach()
install(DIRECTORY include/linformer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.h")
install(FILES c_api/linformer.h c_api/linformer_masks.h c_api/linformer_model_info.h c_api/linformer_prompts.h
  c_api/linformer_ranking.h c_api/linformer_reader.h c_api/linformer_spans.h c_api/linformer_texts.h
  c_api/linformer_tokenizer.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
configure_package_config_file(linformer-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/linformer-config.cmake
  INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/linformer-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/linformer-config.cmake utf8proc_version.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/linformer-config-version.cmake
  DESTINATION ${package_directory} COMPONENT development)

# The licence is a separate component, because packages of a Linux distribution install it in another form and place.
set(linformer_doc_directory ${CMAKE_INSTALL_DOCDIR})
if(NOT linformer_top_level)
  set(linformer_doc_directory ${CMAKE_INSTALL_DATAROOTDIR}/doc/linformer)  # CMAKE_INSTALL_DOCDIR has the parent's name.
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${linformer_doc_directory} COMPONENT licence)

if(linformer_top_level)
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
      "-DFOLDERS=${CMAKE_INSTALL_INCLUDEDIR}/linformer;${package_directory};${linformer_doc_directory}"
      -P ${CMAKE_CURRENT_SOURCE_DIR}/uninstall.cmake
    VERBATIM)
endif()
