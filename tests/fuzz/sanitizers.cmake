# Compiler options of the whole build if LINFORMER_FUZZ is on: libFuzzer's coverage and the sanitizers.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "LINFORMER_FUZZ needs clang 14 or newer: use the preset fuzz, or -DCMAKE_CXX_COMPILER=clang++")
endif()
# The check `vptr` is off, because it needs RTTI and the runtime has none. The checks `null` and `object-size` are off,
# because the address sanitizer finds the same errors.
add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=vptr,null,object-size
  -fno-sanitize-recover=all -fno-omit-frame-pointer)
add_link_options(-fsanitize=address,undefined)
