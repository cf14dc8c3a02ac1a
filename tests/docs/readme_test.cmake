# Converts the sample as the README says, runs the README's program in the folder of the model and checks its output.
cmake_minimum_required(VERSION 3.22)
file(MAKE_DIRECTORY ${WORK})
execute_process(
  COMMAND ${CONVERT} ${SAMPLE}/checkpoint.pt -o ${WORK}/sentiment.lnfr --tokenizer ${SAMPLE} --labels negative,positive
    --quiet
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${EXAMPLE} WORKING_DIRECTORY ${WORK} OUTPUT_VARIABLE answer COMMAND_ERROR_IS_FATAL ANY)
message("${answer}")
if(NOT answer MATCHES "^negative 0\\.[0-4][0-9]*\npositive (0\\.[5-9]|1\\.0)[0-9]*\n$")
  message(FATAL_ERROR "a lovely film should be positive")
endif()

# Checks that the documents to which the README links exist.
get_filename_component(root ${SAMPLE}/../.. ABSOLUTE)
file(READ ${root}/README.md readme)
string(REPLACE "](" "@(" readme "${readme}")  # A bracket would prevent CMake from splitting the list.
string(REGEX MATCHALL "@\\([^)#:]+" links "${readme}")
list(LENGTH links count)
if(count LESS 5)
  message(FATAL_ERROR "only ${count} links found in README.md: this check sees nothing")
endif()
foreach(link IN LISTS links)
  string(SUBSTRING "${link}" 2 -1 path)
  if(NOT path MATCHES "^https?$" AND NOT EXISTS ${root}/${path})
    message(FATAL_ERROR "README.md points at ${path}, which isn't there")
  endif()
endforeach()
