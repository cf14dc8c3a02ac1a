# Finds the libraries that the programs and the tests need on the system.
set(without_programs "-DLINFORMER_BUILD_CONVERTER=OFF -DLINFORMER_BUILD_APPS=OFF")
if(LINFORMER_BUILD_CONVERTER OR LINFORMER_BUILD_APPS OR LINFORMER_BUILD_TESTS)
  linformer_package(nlohmann_json 3.10 "the converter, the programs and the tests" nlohmann-json3-dev
    "or build the library alone: ${without_programs} -DLINFORMER_BUILD_TESTS=OFF")
endif()
if(LINFORMER_BUILD_CONVERTER OR LINFORMER_BUILD_APPS)
  linformer_package(CLI11 2 "the command lines of the converter and the programs" libcli11-dev
    "or build without them: ${without_programs}")
endif()
if(LINFORMER_BUILD_APPS)
  linformer_package(ZLIB 1.2 "the program linformer" zlib1g-dev "or build without it: -DLINFORMER_BUILD_APPS=OFF")
endif()
if(LINFORMER_BUILD_TESTS)
  linformer_package(doctest 2.4 "the tests" doctest-dev "or build without them: -DLINFORMER_BUILD_TESTS=OFF")
endif()
