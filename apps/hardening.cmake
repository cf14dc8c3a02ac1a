# Compiler and linker options that make memory errors in the programs harder to exploit. They apply to the programs and
# their own libraries, not to the runtime, whose kernels they could slow down.
#
#   -z relro, -z now             the table of imported functions' addresses is read-only once the program runs
#   _FORTIFY_SOURCE              the C library checks the sizes of buffers; needs optimisation
#   -fstack-protector-strong     the program ends when its stack was overwritten
#   -fcf-protection              indirect jumps may reach only places that the compiler marked (x86-64). The linker marks
#                                the program as protected only where all objects were compiled so; on Debian the C
#                                library's crt1.o was not
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
macro(linformer_harden_folder)
  add_compile_options(${linformer_hardened_options})
  add_link_options(${linformer_hardened_links})
endmacro()
