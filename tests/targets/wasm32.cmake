# Debian's Emscripten; programs run in node, and read the files of the machine.
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)
set(CMAKE_CXX_FLAGS_INIT "-msimd128")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-sNODERAWFS=1 -sALLOW_MEMORY_GROWTH=1 -sEXIT_RUNTIME=1")
# Packages of headers alone are this machine's; its libraries fit nothing here and are not linked.
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
