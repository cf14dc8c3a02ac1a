// This function has its own file, because windows.h defines macros with names that the tests use.
#include "session/thread_count.h"

#ifdef _WIN32
#include <windows.h>
// This header must follow windows.h.
#include <tlhelp32.h>
#else
#include <filesystem>
#endif

namespace linformer_test {

#ifdef _WIN32

int64_t threads_of_process() {
  const HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
  if (all == INVALID_HANDLE_VALUE) return -1;
  int64_t count = 0;
  THREADENTRY32 thread = {};
  thread.dwSize = sizeof thread;
  for (BOOL more = Thread32First(all, &thread); more; more = Thread32Next(all, &thread)) {
    if (thread.th32OwnerProcessID == GetCurrentProcessId()) ++count;
  }
  CloseHandle(all);
  return count;
}

#else

int64_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

#endif

}  // namespace linformer_test
