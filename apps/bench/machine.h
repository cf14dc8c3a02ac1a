// Describes the machine on which a measurement was made.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace linformer::bench {

struct Machine {
  std::string processor;     // The name of the processor, or "unknown processor".
  std::string instructions;  // The vector and matrix extensions, such as "avx2 fma avx512f avx512_vnni".
  std::string system;        // Such as "Linux 6.1.0".
  std::string compiler;      // The compiler that compiled this program.
  std::string device;        // The GPU that computed, with its compute capability. Empty if the processor computed.
};
Machine this_machine();
// Returns the memory that is available without swapping, in bytes, or 0 if the system can't tell it.
uint64_t available_memory();
// Returns the size of the level 3 cache in bytes, or 0 if there is none or the system can't tell its size.
uint64_t shared_cache_bytes();
// Returns a name such as "Linux 6.1.0", or an empty string if the system can't tell it.
std::string system_name();

void to_json(nlohmann::ordered_json& json, const Machine& machine);

}  // namespace linformer::bench
