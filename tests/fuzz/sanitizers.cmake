# How everything is compiled where LINFORMER_FUZZ is on: counted by libFuzzer, and checked.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "LINFORMER_FUZZ needs clang 14 or newer: use the preset fuzz, or -DCMAKE_CXX_COMPILER=clang++")
endif()
# -fno-sanitize=vptr: the runtime is compiled without RTTI.
add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all
  -fno-omit-frame-pointer)
add_link_options(-fsanitize=address,undefined)
