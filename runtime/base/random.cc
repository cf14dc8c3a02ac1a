#include "base/random.h"

#include <unistd.h>

#include <ctime>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

namespace linformer {

uint64_t random_number() {
  uint64_t number = 0;
  if (::getentropy(&number, sizeof number) == 0) return number;
  // A system that has none: where the stack lies, and the time.
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  number = reinterpret_cast<uintptr_t>(&number) ^ static_cast<uint64_t>(now.tv_sec) << 32;
  return (number ^ static_cast<uint64_t>(now.tv_nsec)) * 0x9E3779B97F4A7C15u;
}

}  // namespace linformer
