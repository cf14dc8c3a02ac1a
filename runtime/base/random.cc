#include "base/random.h"

#include <ctime>

#include "base/platform.h"

namespace LINFORMER_NAMESPACE {

uint64_t random_number() {
  uint64_t number = 0;
  if (platform::fill_random(&number, sizeof number)) return number;
  // If the system has no random numbers, the address of the stack and the time are mixed.
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  number = reinterpret_cast<uintptr_t>(&number) ^ static_cast<uint64_t>(now.tv_sec) << 32;
  return (number ^ static_cast<uint64_t>(now.tv_nsec)) * 0x9E3779B97F4A7C15u;
}

}  // namespace LINFORMER_NAMESPACE
