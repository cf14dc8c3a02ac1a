# The libraries that the runtime needs, from the system.
set(advice ", or build with the versions of third_party/README.md: -DLINFORMER_FETCH_DEPS=ON")
if(linformer_needs_xsimd)
  linformer_header(XSIMD_INCLUDE_DIR xsimd/xsimd.hpp libxsimd-dev)
endif()
linformer_header(FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h libflatbuffers-dev)
find_program(LINFORMER_FLATC flatc)
if(NOT LINFORMER_FLATC)
  message(FATAL_ERROR "linformer needs the program flatc of the headers' version, which is not here: install it \
(flatbuffers-compiler) or set LINFORMER_FLATC${advice}")
endif()
linformer_header(XXHASH_INCLUDE_DIR xxhash.h libxxhash-dev)
linformer_header(UTF8PROC_INCLUDE_DIR utf8proc.h libutf8proc-dev)
find_library(UTF8PROC_LIBRARY NAMES libutf8proc.a utf8proc)
if(NOT UTF8PROC_LIBRARY)
  message(FATAL_ERROR "linformer needs the library utf8proc, which is not here: install it (libutf8proc-dev) or set \
UTF8PROC_LIBRARY${advice}")
endif()
