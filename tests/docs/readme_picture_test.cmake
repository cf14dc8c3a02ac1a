# Draws the README's picture again and compares it with the files that the README shows.
cmake_minimum_required(VERSION 3.22)
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${PYTHON} ${FOLDER}/draw_times.py --to ${WORK} COMMAND_ERROR_IS_FATAL ANY)
foreach(theme light dark)
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WORK}/times-${theme}.svg ${FOLDER}/times-${theme}.svg
    RESULT_VARIABLE differs)
  if(differs)
    message(FATAL_ERROR "apps/bench/picture/times-${theme}.svg is not what draw_times.py makes of MEASUREMENTS.md: run it again")
  endif()
endforeach()
