# How everything is compiled where LINFORMER_FUZZ is on: counted by libFuzzer, and checked.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "LINFORMER_FUZZ needs clang 14 or newer: use the preset fuzz, or -DCMAKE_CXX_COMPILER=clang++")
endif()
# The runtime is compiled without RTTI, which vptr needs. The address sanitizer reports what null and object-size would.
add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=vptr,null,object-size
  -fno-sanitize-recover=all -fno-omit-frame-pointer)
add_link_options(-fsanitize=address,undefined)
