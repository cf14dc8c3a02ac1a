# Compiler and linker options of the programs and their own libraries; the runtime has its own.
#
# Each folder chooses the optimisation of its release builds. Code that runs once in a command, or only reads the
# description of a model, is compiled with -Os, which makes it a third smaller than -O2. Code that runs for each record
# is compiled with -O2, since -O3 gained no measurable time and made the programs a tenth larger. Loops over weights
# keep -O3 (linformer_fast).
#
# The following options make memory errors harder to exploit. The runtime doesn't have them, because kernels could be
# slower.
#
#   -z relro, -z now             the table of imported functions' addresses is read-only once the program runs
#   _FORTIFY_SOURCE              the C library checks the sizes of buffers; needs optimisation
#   -fstack-protector-strong     the program ends if a function has overwritten its return address
#   -fcf-protection              indirect jumps may reach only places that the compiler marked (x86-64). The linker
#                                marks the program as protected only if all its objects were compiled with this option;
#                                Debian's crt1.o was not
include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)

set(linformer_hardened_options)
set(linformer_hardened_links)
# Builds with sanitizers go without these options: sanitizers check more, and _FORTIFY_SOURCE interferes with them.
if(linformer_top_level AND NOT LINFORMER_FUZZ AND NOT "${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize")
  list(APPEND linformer_hardened_options
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE>
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=2>)
  check_cxx_compiler_flag(-fstack-protector-strong linformer_has_stack_protector)
  check_cxx_compiler_flag(-fcf-protection linformer_has_cf_protection)
  if(linformer_has_stack_protector)
    list(APPEND linformer_hardened_options -fstack-protector-strong)
  endif()
  if(linformer_has_cf_protection)
    list(APPEND linformer_hardened_options -fcf-protection)
  endif()
  check_linker_flag(CXX "LINKER:-z,relro,-z,now" linformer_has_relro)
  if(linformer_has_relro)
    list(APPEND linformer_hardened_links "LINKER:-z,relro,-z,now")
  endif()
endif()

# Applies the options to everything that the calling folder and the folders below it compile from here on.
macro(linformer_program_folder level)
  add_compile_options($<$<CONFIG:Release>:${level}> ${linformer_hardened_options})
  add_link_options(${linformer_hardened_links})
endmacro()

# linformer_fast(SOURCES...) compiles files with -O3. They loop over weights or measure what the processor can do.
function(linformer_fast)
  # In a unity build, CMake compiles a file that has its own options separately. So only release builds set them.
  if(NOT LINFORMER_UNITY OR CMAKE_BUILD_TYPE STREQUAL Release)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
  endif()
endfunction()
