# Fetches libraries in pinned versions. Their archives come from LINFORMER_DEPS_DIR, which is a folder or the URL of a
# folder, or are downloaded from the projects' pages. -DFETCHCONTENT_SOURCE_DIR_LINFORMER_NAME=FOLDER takes an unpacked
# source instead of an archive; its content is not checked.
include(FetchContent)
if(POLICY CMP0135)
  cmake_policy(SET CMP0135 NEW)  # Unpacked files get the time of their extraction.
endif()

set(linformer_deps ${LINFORMER_DEPS_DIR})
if(linformer_deps AND NOT linformer_deps MATCHES "^[a-z]+://")
  cmake_path(ABSOLUTE_PATH linformer_deps BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
endif()

# linformer_fetch(NAME URL ARCHIVE SHA256 [ARCHIVE SHA256]...) sets NAME_SOURCE to the folder of the unpacked source.
# The first archive is the one at URL. The folder LINFORMER_DEPS_DIR may contain any of the archives.
function(linformer_fetch name url)
  string(TOUPPER LINFORMER_${name} upper)
  list(GET ARGN 1 sha256)
  if(linformer_deps MATCHES "^[a-z]+://")
    list(GET ARGN 0 file)
    set(url ${linformer_deps}/${file})
  elseif(linformer_deps AND NOT FETCHCONTENT_SOURCE_DIR_${upper})
    set(archives ${ARGN})
    set(found "")
    while(archives AND NOT found)
      list(POP_FRONT archives file expected)
      if(EXISTS ${linformer_deps}/${file})
        set(found ${linformer_deps}/${file})
      endif()
    endwhile()
    if(NOT found)
      list(GET ARGN 0 file)
      message(FATAL_ERROR "LINFORMER_DEPS_DIR, ${linformer_deps}, has no ${file}: download ${url} to a file of this \
name, or leave LINFORMER_DEPS_DIR empty, so that CMake downloads it")
    endif()
    file(SHA256 ${found} actual)
    if(NOT actual STREQUAL expected)
      message(FATAL_ERROR "${found} has SHA-256 ${actual} and not ${expected}: it is damaged or of another version; \
download it again from ${url}")
    endif()
    set(url ${found})
    set(sha256 ${expected})
  endif()
  # SOURCE_SUBDIR names a folder that does not exist, so that the library's own CMake targets are not added to the
  # build.
  FetchContent_Declare(linformer_${name} URL ${url} URL_HASH SHA256=${sha256} SOURCE_SUBDIR no_build_of_its_own)
  FetchContent_MakeAvailable(linformer_${name})
  set(${name}_SOURCE ${linformer_${name}_SOURCE_DIR} PARENT_SCOPE)
endfunction()
