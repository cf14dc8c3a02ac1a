# Run by ctest with -DCHECK=find_package|pkg_config|size|symbols; CMakeLists.txt gives the other variables.
cmake_minimum_required(VERSION 3.22)
set(work ${WORK}/${CHECK})
set(prefix ${work}/prefix)

# run(OUTPUT COMMAND...): stops with the command's words when it fails.
function(run output)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE error)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\ngave ${code}\n${text}${error}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

# Installs the library alone, loads a model with `program` and looks at the three probabilities.
function(classify program)
  run(ignored ${WRITE_MODEL} ${work}/model.lnfr)
  run(text ${program} ${work}/model.lnfr 4 5 6 7)
  string(REGEX MATCHALL "0\\.[0-9]+" probabilities "${text}")
  list(LENGTH probabilities count)
  if(NOT count EQUAL 3)
    message(FATAL_ERROR "expected three probabilities, not:\n${text}")
  endif()
  message("${CHECK}: ${probabilities}")
endfunction()

file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
separate_arguments(flags UNIX_COMMAND "${FLAGS}")

if(CHECK STREQUAL "find_package")
  run(ignored ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --component library)
  run(ignored ${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${work}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=${CONFIG} "-DCMAKE_CXX_FLAGS=${FLAGS}")
  run(ignored ${CMAKE_COMMAND} --build ${work}/build)
  classify(${work}/build/consumer)

  # What is installed knows nothing of the machine that it was built on.
  file(GLOB_RECURSE scripts ${prefix}/*.cmake ${prefix}/*.pc)
  list(LENGTH scripts count)
  if(count LESS 5)
    message(FATAL_ERROR "expected the CMake package and linformer.pc below ${prefix}")
  endif()
  foreach(script IN LISTS scripts)
    file(READ ${script} text)
    foreach(path ${BUILD} ${prefix})
      string(FIND "${text}" "${path}" found)
      if(NOT found EQUAL -1)
        message(FATAL_ERROR "${script} names ${path}")
      endif()
    endforeach()
  endforeach()

elseif(CHECK STREQUAL "pkg_config")
  find_program(pkg_config pkg-config)
  if(NOT pkg_config)
    message("skipped: pkg-config is not here")
    return()
  endif()
  run(ignored ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --component library)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  run(arguments ${pkg_config} --cflags --libs linformer)
  separate_arguments(arguments UNIX_COMMAND "${arguments}")
  run(ignored ${CXX} ${flags} -std=c++20 ${SOURCE}/tiny.cc -o ${work}/consumer ${arguments})
  classify(${work}/consumer)

elseif(CHECK STREQUAL "size")
  classify(${TINY})
  if(NOT CONFIG STREQUAL "Release" OR FLAGS MATCHES "-fsanitize")
    message("skipped: the size of a ${CONFIG} build says nothing")
    return()
  endif()
  run(ignored ${STRIP} -o ${work}/tiny ${TINY})
  file(SIZE ${work}/tiny bytes)
  message("a program that loads a model and classifies ids: ${bytes} bytes stripped (oneDNN ${ONEDNN}, OpenBLAS ${OPENBLAS})")
  set(most 400000)  # 342,664 in the minimal preset with GCC 12
  if(bytes GREATER most)
    message(FATAL_ERROR "more than ${most} bytes: what came in that such a program doesn't need?")
  endif()

elseif(CHECK STREQUAL "symbols")
  if(NOT CONFIG STREQUAL "Release" OR FLAGS MATCHES "-fsanitize")
    message("skipped: assertions and sanitizers call what the release build does not")
    return()
  endif()
  # tests/layers reads the sources; this reads what came out of headers too.
  run(symbols ${NM} -u ${ARCHIVE})
  string(REGEX MATCHALL "U [^\n]+" symbols "${symbols}")
  list(TRANSFORM symbols REPLACE "^U " "")
  list(LENGTH symbols count)
  if(count LESS 50)
    message(FATAL_ERROR "only ${count} symbols in ${ARCHIVE}: this check sees nothing")
  endif()
  foreach(symbol abort exit _exit quick_exit __assert_fail raise printf fprintf vprintf vfprintf puts putchar fputs fputc
      fwrite perror __printf_chk __fprintf_chk stdout stderr __cxa_throw __cxa_allocate_exception __cxa_begin_catch
      _ZSt4cout _ZSt4cerr _ZSt9terminatev setenv putenv setlocale openblas_set_num_threads
      # Memory that runs out: operator new without nothrow, and what std::vector, std::string and their kin throw.
      _Znwm _Znam _Znwj _Znaj _ZnwmSt11align_val_t _ZnamSt11align_val_t _ZSt17__throw_bad_allocv
      _ZSt20__throw_length_errorPKc _ZSt28__throw_bad_array_new_lengthv _ZSt19__throw_logic_errorPKc
      _ZSt25__throw_bad_function_callv)
    if(symbol IN_LIST symbols)
      message(FATAL_ERROR "the library calls ${symbol}")
    endif()
  endforeach()
  message("${count} undefined symbols looked at")
else()
  message(FATAL_ERROR "unknown check '${CHECK}'")
endif()
