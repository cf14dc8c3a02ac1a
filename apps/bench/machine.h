// The machine that a figure was taken on.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace linformer::bench {

struct Machine {
  std::string processor;     // its name, or "unknown processor"
  std::string instructions;  // those that kernels ask for: "avx2 fma avx512f avx512_vnni avx512_bf16"
  std::string system;        // "Linux 6.1.0"
  std::string compiler;      // that this program was made with
  std::string device;        // that computed, with its compute capability; empty: the processor
};
Machine this_machine();
// Memory that can be had without swapping, in bytes; 0 where the system doesn't say.
uint64_t available_memory();
// Of the largest cache that processors share; 0 where the system doesn't say.
uint64_t shared_cache_bytes();
// "Linux 6.1.0"; empty where the system doesn't say.
std::string system_name();

void to_json(nlohmann::ordered_json& json, const Machine& machine);

}  // namespace linformer::bench
