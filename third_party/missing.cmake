# Collects everything that the build needs and this machine lacks, and prints it in one message. For each thing the
# message says what it is for, its Debian package, and how to build without it.
set_property(GLOBAL PROPERTY linformer_missing "")
set_property(GLOBAL PROPERTY linformer_missing_packages "")

# linformer_missing(WHAT PURPOSE PACKAGE OTHERWISE) records that WHAT is missing. PACKAGE is its Debian package, or ""
# if there is none. OTHERWISE says what can be done instead of installing the package.
function(linformer_missing what purpose package otherwise)
  if(package)
    set_property(GLOBAL APPEND PROPERTY linformer_missing_packages ${package})
    set(package "install ${package}, ")
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY linformer_missing "\n  ${what}, for ${purpose}: ${package}${otherwise}")
endfunction()

# Ends the configuration with an error if anything is missing.
function(linformer_stop_at_missing)
  get_property(missing GLOBAL PROPERTY linformer_missing)
  if(NOT missing)
    return()
  endif()
  get_property(packages GLOBAL PROPERTY linformer_missing_packages)
  if(packages)
    list(REMOVE_DUPLICATES packages)
    list(JOIN packages " " packages)
    string(APPEND missing "\n  On Debian and Ubuntu: apt-get install ${packages}")
  endif()
  message(FATAL_ERROR "linformer can't be built, because these are missing:${missing}\n")
endfunction()
