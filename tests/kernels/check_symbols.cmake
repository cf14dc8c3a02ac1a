# Fails when a translation unit of one instruction set defines a weak symbol that another unit or library could
# define too: the linker keeps one copy, and code compiled for AVX-512 would run on every machine.
execute_process(COMMAND ${NM} -A -C --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${NM} can't read ${LIBRARY}")
endif()
string(REPLACE ";" "," symbols "${symbols}")
string(REPLACE "\n" ";" symbols "${symbols}")
set(units 0)
foreach(symbol IN LISTS symbols)
  if(symbol MATCHES "_kernels$")
    math(EXPR units "${units} + 1")
  endif()
  # V, W, u: weak or unique. Templates of an xsimd architecture can only be that architecture's. Those of NEON's
  # extensions share one; what xsimd 8 leaves there to the linker is the bits of a register under another type.
  if(symbol MATCHES "(avx2|avx512|vnni|bf16|amx|neon|dotprod|i8mm)[.]cc[.]o:[0-9a-f]* [VWu] " AND
     NOT symbol MATCHES "xsimd::(avx512|fma3|avx2)|(xsimd::kernel::wrap::vreinterpretq_| xsimd::bitwise_cast<)" AND
     NOT symbol MATCHES "DW[.]ref|__asan|__odr_asan|__ubsan")
    if(NOT symbol MATCHES "xsimd::neon" OR symbol MATCHES "(bf16|dotprod|i8mm)[.]cc[.]o:")
      message(SEND_ERROR "weak symbol in a unit of one instruction set: ${symbol}")
    endif()
  endif()
endforeach()
set(least 1)
if(CARRIED)
  set(least 2)
endif()
if(units LESS least)
  message(FATAL_ERROR "found ${units} kernel tables in ${LIBRARY}: the check looks at nothing")
endif()
