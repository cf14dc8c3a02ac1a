# Fetches the libraries that the programs and the tests need, in pinned versions. Their targets have the names that the
# system's CMake packages give them. A library is fetched only if a part that needs it is built.

# linformer_fetched_headers(TARGET FOLDER) makes the target of a library that consists of headers.
function(linformer_fetched_headers target folder)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${folder})
endfunction()

if(LINFORMER_BUILD_CONVERTER OR LINFORMER_BUILD_APPS OR LINFORMER_BUILD_TESTS)
  linformer_fetch(nlohmann_json https://github.com/nlohmann/json/archive/refs/tags/v3.11.3.tar.gz
    json-3.11.3.tar.gz 0d8ef5af7f9794e3263480193c491549b2ba6cc74bb018906202ada498a79406
    nlohmann-json3_3.11.3.orig.tar.gz 0d8ef5af7f9794e3263480193c491549b2ba6cc74bb018906202ada498a79406)
  linformer_fetched_headers(nlohmann_json::nlohmann_json ${nlohmann_json_SOURCE}/include)
endif()

# The second archive is Debian's. It lacks files that are not needed to use the headers.
if(LINFORMER_BUILD_CONVERTER OR LINFORMER_BUILD_APPS)
  linformer_fetch(cli11 https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.1.tar.gz
    CLI11-2.4.1.tar.gz 73b7ec52261ce8fe980a29df6b4ceb66243bb0b779451dbd3d014cfec9fdbb58
    cli11_2.4.1+ds.orig.tar.xz 0b8fbf2398875f15f30a675c7f412123a2aaa38df2863e991de72004fd5f1292)
  linformer_fetched_headers(CLI11::CLI11 ${cli11_SOURCE}/include)
endif()

# zlib is built without its functions for files, which are not used here. The second archive is Debian's. It is
# upstream's archive without files that Debian may not distribute.
if(LINFORMER_BUILD_APPS)
  linformer_fetch(zlib https://github.com/madler/zlib/releases/download/v1.3.1/zlib-1.3.1.tar.gz
    zlib-1.3.1.tar.gz 9a93b2b7dfdac77ceba5a558a580e74667dd6fede4585b91eefb60f03b72df23
    zlib_1.3.dfsg+really1.3.1.orig.tar.gz 60dd315c07f616887caa029408308a018ace66e3d142726a97db164b3b8f69fb)
  set(zlib_files adler32 compress crc32 deflate infback inffast inflate inftrees trees uncompr zutil)
  list(TRANSFORM zlib_files PREPEND ${zlib_SOURCE}/)
  list(TRANSFORM zlib_files APPEND .c)
  add_library(linformer_zlib STATIC EXCLUDE_FROM_ALL ${zlib_files})
  target_include_directories(linformer_zlib SYSTEM PUBLIC ${zlib_SOURCE})
  target_compile_options(linformer_zlib PRIVATE -ffunction-sections)  # The linker can remove unused functions.
  add_library(ZLIB::ZLIB ALIAS linformer_zlib)
endif()

if(LINFORMER_BUILD_TESTS)
  linformer_fetch(doctest https://github.com/doctest/doctest/archive/refs/tags/v2.4.11.tar.gz
    doctest-2.4.11.tar.gz 632ed2c05a7f53fa961381497bf8069093f0d6628c5f26286161fbd32a560186
    doctest_2.4.11.orig.tar.gz 632ed2c05a7f53fa961381497bf8069093f0d6628c5f26286161fbd32a560186)
  linformer_fetched_headers(doctest::doctest ${doctest_SOURCE})
endif()
