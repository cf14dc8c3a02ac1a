# Run by ctest. Tests what records.cmake says about a value that the last record permits, a value above it, a key
# without a record, and malformed lines.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/records.cmake)
file(MAKE_DIRECTORY ${WORK})
set(history ${WORK}/history.txt)

if(MALFORMED)  # a process of its own, since it ends there
  file(WRITE ${WORK}/malformed.txt "2026-01-02 abc1234 GNU-12 program 1000\n")
  last_record(${WORK}/malformed.txt program last)
  return()
endif()

file(WRITE ${history} "# A comment.\n2026-01-02 abc1234 GNU-12 program 500 It was small once.\n"
  "2026-01-03 abc1235 GNU-12 other 9000 Another program.\n2026-01-04 abc1236 GNU-13 program 1000 It reads CSV files.\n")
function(expect key value pattern)
  within_record(${history} ${key} GNU-12 ${value} 2)
  if(NOT beyond MATCHES "${pattern}" OR (pattern STREQUAL "^$" AND NOT beyond STREQUAL ""))
    message(FATAL_ERROR "${key} ${value}: expected ${pattern}, not '${beyond}'")
  endif()
endfunction()
expect(program 1020 "^$")
expect(program 1021 "program is 1021, more than 2 % above the 1000 .* at most 1020.*GNU-12 program 1021 REASON$")
expect(program 400 "^$")
expect(other 9181 "at most 9180")
expect(absent 1 "never recorded.*GNU-12 absent 1 REASON$")
last_record(${history} program last)
if(NOT "${last_value} ${last_environment}" STREQUAL "1000 GNU-13")
  message(FATAL_ERROR "the last record is ${last_value} ${last_environment}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -DMALFORMED=1 -DWORK=${WORK} -P ${CMAKE_CURRENT_LIST_FILE}
  RESULT_VARIABLE code ERROR_VARIABLE error)
if(code EQUAL 0 OR NOT error MATCHES "is not DATE COMMIT")
  message(FATAL_ERROR "a line without a reason gave ${code}\n${error}")
endif()
