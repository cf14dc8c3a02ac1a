# Fails if a translation unit of one instruction set defines a weak symbol that another unit or library could define
# too. The linker would keep one copy, so code compiled for AVX-512 could run on machines without AVX-512.
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
  # V, W and u mark weak or unique symbols. A template of an xsimd architecture is used only by units of this
  # architecture. NEON and its extensions share one architecture; there xsimd 8 defines weak functions only to
  # reinterpret a register as another type.
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
