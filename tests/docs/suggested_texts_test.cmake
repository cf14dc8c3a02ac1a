# Checks the texts that the quickstart, the READMEs and --help show with `classify`. People try them with the sample
# model, so that model must be sure of its answers.
cmake_minimum_required(VERSION 3.22)
set(least 0.85)  # probability
file(MAKE_DIRECTORY ${WORK})
execute_process(
  COMMAND ${CONVERT} ${ROOT}/apps/sample/checkpoint.pt -o ${WORK}/sample.lnfr --tokenizer ${ROOT}/apps/sample
    --labels ${ROOT}/apps/sample/labels.txt --quiet
  COMMAND_ERROR_IS_FATAL ANY)
set(shown "")
file(GLOB pages RELATIVE ${ROOT} ${ROOT}/apps/cli/docs/*.md)
foreach(file README.md apps/README.md apps/quickstart.sh ${pages})
  file(READ ${ROOT}/${file} text)
  string(APPEND shown "${text}\n")
endforeach()
foreach(command "" classify)
  execute_process(COMMAND ${LINFORMER} ${command} --help-all OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND shown "${text}\n")
endforeach()
string(REGEX REPLACE "[][;]" "|" shown "${shown}")  # these characters would join or split CMake's lists
string(REGEX MATCHALL "[^\n]*classify [^ \n]+ \"[^\n]*" lines "${shown}")
list(FILTER lines EXCLUDE REGEX "--pair-text")  # these lines are for another kind of model
set(texts "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^.*classify [^ ]+ " "" line "${line}")
  string(REGEX MATCHALL "\"[^\"]+\"" found "${line}")
  list(APPEND texts ${found})
endforeach()
list(REMOVE_DUPLICATES texts)
list(LENGTH texts count)
if(count LESS 4)
  message(FATAL_ERROR "only ${count} texts were found, so the pattern above no longer matches the examples")
endif()
foreach(text IN LISTS texts)
  string(REGEX REPLACE "^\"|\"$" "" text "${text}")
  execute_process(COMMAND ${LINFORMER} classify ${WORK}/sample.lnfr ${text} OUTPUT_VARIABLE answer
    COMMAND_ERROR_IS_FATAL ANY)
  message("${text}: ${answer}")
  if(NOT answer MATCHES "(0\\.[0-9]+|1\\.?0*)[ \t]*\n$" OR CMAKE_MATCH_1 LESS least)
    message(FATAL_ERROR "'${text}' is shown as an example, and the sample model says ${answer}")
  endif()
endforeach()
