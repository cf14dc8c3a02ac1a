// One configuration, measured in the process that calls.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "linformer/session.h"

namespace linformer::bench {

struct Case {
  std::string model;  // path
  BackendKind backend = BackendKind::native;
  Isa isa = Isa::automatic;
  int threads = 1;
  int64_t tokens = 0;  // of each text
  int64_t batch = 1;   // texts in a call
  double seconds = 2;  // measured time at least, and at least `least_calls` calls
};
inline constexpr int least_calls = 5;

struct Measurement {
  std::string isa;  // as the session chose
  int calls = 0;
  double min_ms = 0, median_ms = 0, p90_ms = 0;  // of a call
  double gigaflop = 0;                           // of a call
  uint64_t arena_bytes = 0;                      // planned
  uint64_t used_bytes = 0;                       // touched
  uint64_t peak_bytes = 0;                       // the process's largest resident set, file pages included
  uint64_t resident_file_bytes = 0;              // resident pages of files (the model, libraries)
};

// Loads the model, warms up with two calls, then measures. All hidden states are asked for, so that no row can be
// left out. Throws std::runtime_error with the runtime's sentence.
Measurement measure(const Case& what);

// Floating-point operations of one text's embedding, layers and what follows the last one, as the program that sessions
// run has them (a multiply-add is two); heads aren't among the outputs that are measured. Throws as measure().
double encoder_flop(const Model& model, const SessionOptions& options, int64_t tokens);

// For the way between the driver and the process that measures.
void to_json(nlohmann::json& json, const Case& what);
void from_json(const nlohmann::json& json, Case& what);
void to_json(nlohmann::json& json, const Measurement& measurement);
void from_json(const nlohmann::json& json, Measurement& measurement);

}  // namespace linformer::bench
