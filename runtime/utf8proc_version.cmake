# linformer_utf8proc_version(FOLDER OUTPUT): the version that FOLDER/utf8proc.h says, as 2.8.0. For the build, and for the
# installed package, which looks for the same one.
function(linformer_utf8proc_version folder output)
  file(STRINGS ${folder}/utf8proc.h lines REGEX "^#define UTF8PROC_VERSION_(MAJOR|MINOR|PATCH) ")
  list(TRANSFORM lines REPLACE "^.* ([0-9]+)[^0-9]*$" "\\1" OUTPUT_VARIABLE numbers)
  list(JOIN numbers "." version)
  set(${output} "${version}" PARENT_SCOPE)
endfunction()
