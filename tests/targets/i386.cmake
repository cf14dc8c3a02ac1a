# Its programs run on x86-64 as they are.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_C_COMPILER i686-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER i686-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-i386 -L /usr/i686-linux-gnu)
# As on the other targets, float arithmetic in SSE registers: x87 rounds differently, and twice.
set(CMAKE_CXX_FLAGS_INIT "-msse2 -mfpmath=sse")
