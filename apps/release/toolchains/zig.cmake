# A toolchain that builds for another system with zig, which contains that system's headers and libraries:
#   cmake -S . -B build/windows -G Ninja -DCMAKE_TOOLCHAIN_FILE=apps/release/toolchains/zig.cmake \
#     -DLINFORMER_ZIG_TARGET=x86_64-windows-gnu -DLINFORMER_FETCH_DEPS=ON -DCMAKE_BUILD_TYPE=Release
# LINFORMER_ZIG_TARGET is a target as zig names it, such as x86_64-linux-musl, aarch64-linux-gnu.2.28 (which runs with
# glibc 2.28 and newer), x86_64-macos or aarch64-macos. LINFORMER_ZIG is the program; by default the one on the PATH.
#
# Libraries and headers of this machine are not looked for, because they belong to another system. LINFORMER_FETCH_DEPS
# fetches the needed libraries.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LINFORMER_ZIG LINFORMER_ZIG_TARGET LINFORMER_ZIG_SCRIPTS)
if(NOT LINFORMER_ZIG)
  find_program(LINFORMER_ZIG zig)
endif()
if(NOT LINFORMER_ZIG)
  message(FATAL_ERROR "there is no zig on the PATH: set LINFORMER_ZIG")
endif()
if(NOT LINFORMER_ZIG_TARGET MATCHES "^(x86_64|aarch64)-(linux|windows|macos)")
  message(FATAL_ERROR "LINFORMER_ZIG_TARGET is '${LINFORMER_ZIG_TARGET}': set it to x86_64 or aarch64 of linux, windows or \
macos, such as x86_64-windows-gnu")
endif()
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
string(REPLACE linux Linux CMAKE_SYSTEM_NAME ${CMAKE_MATCH_2})
string(REPLACE windows Windows CMAKE_SYSTEM_NAME ${CMAKE_SYSTEM_NAME})
string(REPLACE macos Darwin CMAKE_SYSTEM_NAME ${CMAKE_SYSTEM_NAME})

# Some variables of CMake must be the path of a program without arguments, so each of zig's commands becomes a script.
# zig has its own names for processors, so the scripts of the compilers translate the kernels'
# -march=armv8.2-a+EXTENSION.
set(translate "for argument; do
  shift
  case $argument in -march=armv8.2-a+*) argument=-mcpu=generic+v8_2a+\${argument##*+} ;; esac
  set -- \"$@\" \"$argument\"
done
")
if(NOT LINFORMER_ZIG_SCRIPTS)
  set(LINFORMER_ZIG_SCRIPTS ${CMAKE_BINARY_DIR}/zig)
endif()
foreach(command cc c++ ar ranlib rc)
  set(words ${command})
  set(before "")
  if(command MATCHES "^c")
    set(words "${command} -target ${LINFORMER_ZIG_TARGET}")
    set(before "${translate}")
  endif()
  file(CONFIGURE OUTPUT ${LINFORMER_ZIG_SCRIPTS}/${command}
    CONTENT "#!/bin/sh\n@before@exec '@LINFORMER_ZIG@' @words@ \"$@\"\n" @ONLY)
  file(CHMOD ${LINFORMER_ZIG_SCRIPTS}/${command} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
set(CMAKE_C_COMPILER ${LINFORMER_ZIG_SCRIPTS}/cc)
set(CMAKE_CXX_COMPILER ${LINFORMER_ZIG_SCRIPTS}/c++)
set(CMAKE_AR ${LINFORMER_ZIG_SCRIPTS}/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${LINFORMER_ZIG_SCRIPTS}/ranlib CACHE FILEPATH "")
set(CMAKE_RC_COMPILER ${LINFORMER_ZIG_SCRIPTS}/rc)

# Builds in different folders must give the same bytes. These flags keep the names of folders and files out of the
# output:
# - zig writes debug information by default, which contains names of folders. -g0 turns it off.
# - An object for Windows contains the name of a temporary file, unless -object-file-name gives another name. A program
#   for Windows contains an identifier that is computed from debug information; -s removes it.
# - A program for macOS contains the debug information of zig's own C++ library; -s removes it. The name of a shared
#   library for macOS contains the folder of the build, unless CMAKE_INSTALL_NAME_DIR gives another folder.
set(flags "-g0")
if(CMAKE_SYSTEM_NAME STREQUAL Linux)
  # Programs, static ones included, are position-independent, as those of GCC on Debian.
  string(APPEND flags " -fPIC")
  set(CMAKE_EXE_LINKER_FLAGS_INIT -pie)
elseif(CMAKE_SYSTEM_NAME STREQUAL Windows)
  string(APPEND flags " -Xclang -object-file-name=linformer.obj")
  set(CMAKE_EXE_LINKER_FLAGS_INIT -s)
  set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
else()
  set(CMAKE_EXE_LINKER_FLAGS_INIT -s)
  set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
  set(CMAKE_INSTALL_NAME_DIR @rpath)
  set(CMAKE_BUILD_WITH_INSTALL_NAME_DIR ON)
endif()
set(CMAKE_C_FLAGS_INIT "${flags}")
set(CMAKE_CXX_FLAGS_INIT "${flags}")

set(CMAKE_FIND_ROOT_PATH ${LINFORMER_ZIG_SCRIPTS})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
