# linformer_utf8proc_version(FOLDER OUTPUT): stores in OUTPUT the version that FOLDER/utf8proc.h defines, for example
# 2.8.0. The build uses it, and the installed CMake package, which looks for the same version.
function(linformer_utf8proc_version folder output)
  file(STRINGS ${folder}/utf8proc.h lines REGEX "^#define UTF8PROC_VERSION_(MAJOR|MINOR|PATCH) ")
  list(TRANSFORM lines REPLACE "^.* ([0-9]+)[^0-9]*$" "\\1" OUTPUT_VARIABLE numbers)
  list(JOIN numbers "." version)
  set(${output} "${version}" PARENT_SCOPE)
endfunction()
