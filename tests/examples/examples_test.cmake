cmake_minimum_required(VERSION 3.22)
file(MAKE_DIRECTORY ${WORK})
set(model ${WORK}/sentiment.lnfr)
execute_process(
  COMMAND ${CONVERT} ${SAMPLE}/checkpoint.pt -o ${model} --tokenizer ${SAMPLE} --labels negative,positive --quiet
  COMMAND_ERROR_IS_FATAL ANY)
# Writes package files in which other bytes precede the model. The offset 4,097 isn't aligned.
file(SIZE ${model} bytes)
foreach(offset 4096 4097)
  string(REPEAT "x" ${offset} before)
  file(WRITE ${WORK}/before "${before}")
  execute_process(COMMAND ${CMAKE_COMMAND} -E cat ${WORK}/before ${model} ${WORK}/before OUTPUT_FILE ${WORK}/package${offset}
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()

string(REPLACE "|" ";" PROGRAMS "${PROGRAMS}")
foreach(program IN LISTS PROGRAMS)
  string(REPLACE "=" ";" program "${program}")
  list(GET program 0 name)
  list(GET program 1 program_${name})
endforeach()

# says(NAME EXPECTED ARGUMENTS...): checks that the example prints the same in both languages, and that its output
# matches EXPECTED.
function(says name expected)
  foreach(language cc c)
    execute_process(COMMAND ${program_${name}_${language}} ${ARGN} OUTPUT_VARIABLE said_${language} ERROR_VARIABLE error
      RESULT_VARIABLE result)
    message("${name}.${language}: ${said_${language}}")
    if(NOT result EQUAL 0 OR NOT said_${language} MATCHES "${expected}")
      message(FATAL_ERROR "${name}.${language} ended with ${result}: ${error}")
    endif()
    file(STRINGS ${FOLDER}/${name}.${language} lines)
    list(LENGTH lines count)
    if(count GREATER 40)
      message(FATAL_ERROR "${name}.${language} has more than 40 lines")
    endif()
  endforeach()
  if(NOT said_cc STREQUAL said_c)
    message(FATAL_ERROR "${name}: C++ and C differ")
  endif()
endfunction()

says(classify "^negative 0\\.[0-4][0-9]*, positive [01]\\.[05-9][0-9]*\nnegative [01]\\.[05-9][0-9]*, positive 0\\.[0-4]"
  ${model} "a lovely film" "a dull and boring mess")
says(embed "^1\\.000\n$" ${model} "a lovely film" "a lovely film")
says(embed "^-?0\\.[0-9]*\n$" ${model} "a lovely film" "a dull and boring mess")
says(windows "^8 tokens from 0 on\n([0-9]+ tokens from [0-9]+ on\n)+2 logits of 130 numbers\n$"
  ${model} "a lovely film that is never dull or boring, and a mess of a plot")
says(own_memory "^[0-9]+ bytes, ok\n$" ${model})
says(from_descriptor "tokens, [0-9]+ layers, 1 heads\n$" ${WORK}/package4096 4096 ${bytes})
says(from_descriptor "tokens, [0-9]+ layers, 1 heads\n$" ${WORK}/package4097 4097 ${bytes})
says(search "^1\\.000 a lovely film\n(-?0\\.[0-9]+ [^\n]+\n)+$"
  ${model} "a lovely film" "a dull and boring mess" "a lovely film" "a film")
says(cancel "^the call was cancelled\n$" ${model} "a lovely film")

# The sample has no head that scores pairs. The example must print an error.
foreach(language cc c)
  execute_process(COMMAND ${program_rerank_${language}} ${model} "which film" "a film" OUTPUT_VARIABLE said
    ERROR_VARIABLE error RESULT_VARIABLE result)
  if(NOT result EQUAL 1 OR NOT error MATCHES "^this model has no head that scores two texts" OR NOT said STREQUAL "")
    message(FATAL_ERROR "rerank.${language}: ended with ${result}, said '${said}' and '${error}'")
  endif()
endforeach()

# The sample has no masked-LM head. The example must print an error.
foreach(language cc c)
  execute_process(COMMAND ${program_fill_mask_${language}} ${model} "a <mask> film" OUTPUT_VARIABLE said
    ERROR_VARIABLE error RESULT_VARIABLE result)
  if(NOT result EQUAL 1 OR NOT error STREQUAL "this model has no masked-LM head\n" OR NOT said STREQUAL "")
    message(FATAL_ERROR "fill_mask.${language}: ended with ${result}, said '${said}' and '${error}'")
  endif()
endforeach()

# If a model can't be loaded, the example must print an error and nothing else.
foreach(language cc c)
  foreach(arguments "${WORK}/package4096;4095;${bytes}" "${WORK}/package4096;0;1000000000000" "${WORK}/absent;0;0")
    execute_process(COMMAND ${program_from_descriptor_${language}} ${arguments} OUTPUT_VARIABLE said ERROR_VARIABLE error
      RESULT_VARIABLE result)
    if(NOT result EQUAL 1 OR error STREQUAL "" OR NOT said STREQUAL "")
      message(FATAL_ERROR "from_descriptor.${language} ${arguments}: ended with ${result}, said '${said}' and '${error}'")
    endif()
  endforeach()
endforeach()
