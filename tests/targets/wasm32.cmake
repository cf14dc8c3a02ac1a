# Uses Debian's Emscripten. The programs run in node and can read the files of the machine.
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)
set(CMAKE_CXX_FLAGS_INIT "-msimd128")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-sNODERAWFS=1 -sALLOW_MEMORY_GROWTH=1 -sEXIT_RUNTIME=1")
# Header-only packages of this machine are found. Its libraries are for another architecture and are not linked.
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
