set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_C_COMPILER i686-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER i686-linux-gnu-g++)
# Most x86-64 Linux kernels run i386 programs directly with the libraries of the cross compiler. The tests of sessions
# then take 12 s, instead of more than 40 minutes under qemu.
set(i386_loader /usr/i686-linux-gnu/lib/ld-linux.so.2)
execute_process(COMMAND ${i386_loader} --version RESULT_VARIABLE i386_runs OUTPUT_QUIET ERROR_QUIET)
if(i386_runs EQUAL 0)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${i386_loader} --library-path /usr/i686-linux-gnu/lib)
else()
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-i386 -L /usr/i686-linux-gnu)
endif()
# Computes in SSE registers, because x87 rounds differently from the other targets, and twice.
set(CMAKE_CXX_FLAGS_INIT "-msse2 -mfpmath=sse")
