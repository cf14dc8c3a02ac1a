#include <sys/utsname.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/sysinfo.h>
#endif

#include <algorithm>
#include <fstream>
#include <string>

#include "bench/machine.h"

namespace linformer::bench {

std::string system_name() {
  utsname names{};
  return ::uname(&names) == 0 ? std::string(names.sysname) + " " + names.release : std::string();
}

uint64_t available_memory() {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("MemAvailable:")) return std::stoull(line.substr(13)) * 1024;
  }
#if defined(__linux__)
  // Without /proc the kernel reports only free memory, and not the caches that it could release.
  struct sysinfo facts {};
  if (::sysinfo(&facts) == 0) return uint64_t{facts.freeram} * facts.mem_unit;
#endif
  return 0;
}

uint64_t shared_cache_bytes() {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  return static_cast<uint64_t>(std::max(::sysconf(_SC_LEVEL3_CACHE_SIZE), 0L));
#else
  return 0;
#endif
}

}  // namespace linformer::bench
