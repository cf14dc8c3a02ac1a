#include <windows.h>

#include <algorithm>
#include <vector>

#include "bench/machine.h"

namespace linformer::bench {

std::string system_name() { return "Windows"; }

uint64_t available_memory() {
  MEMORYSTATUSEX facts{};
  facts.dwLength = sizeof facts;
  return ::GlobalMemoryStatusEx(&facts) != 0 ? facts.ullAvailPhys : 0;
}

uint64_t shared_cache_bytes() {
  DWORD bytes = 0;
  ::GetLogicalProcessorInformation(nullptr, &bytes);
  std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> facts(bytes / sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION));
  if (facts.empty() || ::GetLogicalProcessorInformation(facts.data(), &bytes) == 0) return 0;
  uint64_t largest = 0;
  for (const SYSTEM_LOGICAL_PROCESSOR_INFORMATION& fact : facts) {
    if (fact.Relationship == RelationCache && fact.Cache.Level == 3)
      largest = std::max<uint64_t>(largest, fact.Cache.Size);
  }
  return largest;
}

}  // namespace linformer::bench
