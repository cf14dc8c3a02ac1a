# Describes the Debian packages to CPack: `cpack` in the build folder writes one for each component
# (runtime/install.cmake). debian.sh builds and packs. README.md says what the packages contain.
set(LINFORMER_PACKAGE_CONTACT "linformer.cpp local build <no-address@linformer.invalid>" CACHE STRING
  "Maintainer of the Debian packages, as NAME <ADDRESS>: whoever publishes them")

set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES YES)
set(CPACK_PACKAGE_NAME linformer)
set(CPACK_PACKAGE_CONTACT ${LINFORMER_PACKAGE_CONTACT})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL "")
if(TARGET linformer_cli AND TARGET linformer-convert)
  list(APPEND CPACK_COMPONENTS_ALL programs)
endif()
if(TARGET linformer_shared)
  list(APPEND CPACK_COMPONENTS_ALL shared development)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# This script gives the installed files the form that Debian requires. It sees the variables that begin with CPACK_.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/stage_debian.cmake)
set(CPACK_LINFORMER_STRIP ${CMAKE_STRIP})

# Debian names a library's package after its soname, so that incompatible versions can be installed together.
set(shared_package liblinformer${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# Libraries that a session opens if its options select their backend. Without them the native kernels compute
# everything.
set(backends "")
if(LINFORMER_ONEDNN)
  find_file(dnnl_version_header NAMES oneapi/dnnl/dnnl_version.h dnnl_version.h HINTS ${DNNL_INCLUDE_DIR} NO_CACHE)
  if(dnnl_version_header)
    file(STRINGS ${dnnl_version_header} version_line REGEX "define DNNL_VERSION_MAJOR")
    string(REGEX MATCH "[0-9]+" dnnl_major "${version_line}")
    list(APPEND backends libdnnl${dnnl_major})
  endif()
endif()
if(LINFORMER_OPENBLAS)
  list(APPEND backends "libopenblas0-openmp | libopenblas0")
endif()
list(JOIN backends ", " backends)

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME linformer)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS "${backends}")
set(CPACK_DEBIAN_PROGRAMS_DESCRIPTION "encodes and classifies text with Linformer encoders
linformer runs text encoders on CPUs: Linformers, whose attention takes time
and memory that grow linearly with the length of a text, and Transformers
with full attention. It classifies and tags texts, computes their vectors,
searches and reranks them, fills in masked words and answers questions from
a text.
.
linformer-convert turns a PyTorch checkpoint, or one in the safetensors
format, into the model file that linformer reads. Neither program needs
Python.")

set(reads_models "The library reads a model file that linformer-convert has made, and computes
vectors, labels, tags and answers of texts on the CPU.")
set(CPACK_DEBIAN_SHARED_PACKAGE_NAME ${shared_package})
set(CPACK_DEBIAN_SHARED_PACKAGE_SOURCE linformer)
set(CPACK_DEBIAN_SHARED_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_SHARED_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_SHARED_PACKAGE_SUGGESTS "${backends}")
set(CPACK_DEBIAN_SHARED_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(CPACK_DEBIAN_SHARED_DESCRIPTION "runs Linformer text encoders on CPUs (shared library)
${reads_models}
Processes that use the same model file share its memory.
.
This package contains the shared library, which has a C interface.")

# The CMake package of the static library refuses a utf8proc whose tables differ from those that it was compiled with.
set(development_depends "${shared_package} (= ${PROJECT_VERSION})")
if(NOT TARGET linformer_utf8proc)
  include(${PROJECT_SOURCE_DIR}/runtime/utf8proc_version.cmake)
  linformer_utf8proc_version(${UTF8PROC_INCLUDE_DIR} utf8proc_version)
  string(REGEX MATCH "^(.*\\.)([0-9]+)$" ignored ${utf8proc_version})
  math(EXPR next_patch "${CMAKE_MATCH_2} + 1")
  string(APPEND development_depends ", libutf8proc-dev (>= ${utf8proc_version}), "
    "libutf8proc-dev (<< ${CMAKE_MATCH_1}${next_patch}~)")
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME liblinformer-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SOURCE linformer)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ${development_depends})
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "runs Linformer text encoders on CPUs (development files)
${reads_models}
.
This package contains the headers for C and C++20, the static library, which
has both interfaces, and files for CMake and pkg-config.")

include(CPack)
