# Compiler and linker options that make a fault in a program harder to use: for the programs and their own libraries,
# not for the runtime, whose kernels are as fast as they are for everybody who links the library.
#
#   -z relro, -z now             addresses of functions are read-only once the program runs
#   _FORTIFY_SOURCE              the C library checks the sizes of buffers; needs optimisation
#   -fstack-protector-strong     a stack that was overwritten ends the program
#   -fcf-protection              indirect jumps end only where the compiler meant one to (x86-64). The linker notes it in
#                                the program where all objects were compiled so, the C library's crt1.o among them, which
#                                isn't on Debian
#
# Sanitizers check more, and are confused by FORTIFY.
include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)

set(linformer_hardened_options)
set(linformer_hardened_links)
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

# Of everything that the calling folder and those below it compile from here on.
macro(linformer_harden_folder)
  add_compile_options(${linformer_hardened_options})
  add_link_options(${linformer_hardened_links})
endmacro()
