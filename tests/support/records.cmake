# Compares sizes and counts that may grow by only a few per cent with a recorded history. The history is a file with a
# line for each time that a value was recorded,
#   DATE COMMIT ENVIRONMENT KEY VALUE REASON
# The last line of a key counts. COMMIT is the commit that the change was made on, ENVIRONMENT names the compiler and
# everything else that the value depends on, and REASON is a sentence. Lines that begin with # are comments.

# last_record(FILE KEY VARIABLE): sets VARIABLE_value and VARIABLE_environment to those of the last line of KEY, or to
# "" if there is no such line.
function(last_record file key variable)
  set(${variable}_value "" PARENT_SCOPE)
  set(${variable}_environment "" PARENT_SCOPE)
  file(READ ${file} text)
  if(text MATCHES "[][;\\]")
    message(FATAL_ERROR "${file} has a bracket, a semicolon or a backslash, which CMake's lists can't hold")
  endif()
  string(REGEX MATCHALL "[^\n]+" lines "${text}")
  foreach(line IN LISTS lines)
    if(line MATCHES "^#")
      continue()
    endif()
    if(NOT line MATCHES "^20[0-9][0-9]-[01][0-9]-[0-3][0-9] [0-9a-f]+ ([^ ]+) ([^ ]+) ([0-9]+) [^ ].*[^ ]$")
      message(FATAL_ERROR "${file} has the line\n  ${line}\nwhich is not DATE COMMIT ENVIRONMENT KEY VALUE REASON")
    endif()
    if(CMAKE_MATCH_2 STREQUAL key)
      set(${variable}_environment ${CMAKE_MATCH_1} PARENT_SCOPE)
      set(${variable}_value ${CMAKE_MATCH_3} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# within_record(FILE KEY ENVIRONMENT VALUE PERCENT): sets `beyond` to a sentence if VALUE is more than PERCENT above the
# last record of KEY or if there is no record, and to "" otherwise. Sets `record` to the line that would record VALUE.
# Prints VALUE and the last record.
function(within_record file key environment value percent)
  last_record(${file} ${key} last)
  string(TIMESTAMP today "%Y-%m-%d" UTC)
  get_filename_component(folder ${file} DIRECTORY)
  execute_process(COMMAND git rev-parse --short=7 HEAD WORKING_DIRECTORY ${folder} OUTPUT_VARIABLE commit
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(commit STREQUAL "")
    set(commit COMMIT)
  endif()
  set(line "${today} ${commit} ${environment} ${key} ${value} REASON")
  set(record "${line}" PARENT_SCOPE)
  set(beyond "" PARENT_SCOPE)
  if(last_value STREQUAL "")
    set(beyond "${key} is ${value}, and was never recorded: add this line to ${file}\n  ${line}" PARENT_SCOPE)
    return()
  endif()
  math(EXPR most "${last_value} + ${last_value} * ${percent} / 100")
  math(EXPR least "${last_value} - ${last_value} * ${percent} / 100")
  message("${key}: ${value}, recorded ${last_value} (${last_environment}), at most ${most}")
  if(value GREATER most)
    set(beyond "${key} is ${value}, more than ${percent} % above the ${last_value} that were recorded, so at most ${most}\
. Find out what came in. If it is worth its price, add this line to ${file}, with the reason in a sentence:\n  ${line}"
      PARENT_SCOPE)
  elseif(value LESS least)
    message("${key} became smaller: keep the gain with this line in ${file}\n  ${line}")
  endif()
endfunction()
