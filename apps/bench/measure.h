// One configuration, measured in the process that calls.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "linformer/session.h"

namespace linformer::bench {

struct Case {
  std::string model;            // path
  Access access = Access::map;  // whether the file is mapped or read
  BackendKind backend = BackendKind::native;
  Isa isa = Isa::automatic;
  Compute compute = Compute::automatic;
  AttentionCompute attention_compute = AttentionCompute::automatic;
  int device = -1;  // CudaOptions::device
  int threads = 1;
  int64_t tokens = 0;                 // of each text; 0: as many as the model takes
  int64_t batch = 1;                  // texts in a call
  double seconds = 2;                 // measured time at least
  int warm_ups = 2, least_calls = 5;  // fewer once they take five times `seconds`
  bool profile = false;
};

struct Measurement {
  int64_t tokens = 0;             // of each text
  std::string isa;                // as the session chose
  std::string backend_version;    // of the library that multiplies; empty with the native kernels
  ElementType weights, compute;   // of the encoder's products
  ElementType attention_compute;  // of scores and context
  std::string precision;          // Plan::precision: what was chosen and why
  int calls = 0;
  double min_ms = 0, median_ms = 0, p99_ms = 0;  // of a call
  double gigaflop = 0;                           // of a call
  // Of them products with weights that are computed in another type than `compute`, by ElementType.
  std::array<double, 4> gigaflop_of_others = {};
  uint64_t weight_bytes = 0;  // that a call reads: products' weights and E's columns
  uint64_t model_bytes = 0;   // of the file
  uint64_t arena_bytes = 0;   // planned
  uint64_t used_bytes = 0;    // touched
  uint64_t peak_bytes = 0;    // the process's largest resident set, file pages included
  uint64_t own_bytes = 0;     // of it, without pages of files: working memory, stack and heap
  // One entry for each op of a call on a GPU, and none on a CPU: the operations of its products / 1e9, and the bytes
  // that it reads and writes / 1e9, where each byte counts once.
  std::vector<std::array<double, 2>> ops;
  nlohmann::ordered_json profile;  // null unless asked for
};

// What Case::profile adds: a session's profile as JSON.
using DescribeProfile = std::function<nlohmann::ordered_json(const Session&)>;

// Loads the model, warms up, then measures. The mean of the encoder's rows is asked for, so that no row can be left
// out and the caller holds none. Throws std::runtime_error with the runtime's sentence.
Measurement measure(const Case& what, const DescribeProfile& describe_profile = {});

// Floating-point operations of one text's embedding, layers and what follows the last one, as the program that sessions
// run has them (a multiply-add is two); heads aren't among the outputs that are measured. Throws as measure().
struct Flop {
  double all = 0;
  std::array<double, 4> weights = {};  // products with weights, by the ElementType that they are computed in
};
Flop encoder_flop(const Model& model, const SessionOptions& options, int64_t tokens);

// Returns Measurement::ops of a call with `batch` texts. Throws as measure().
std::vector<std::array<double, 2>> encoder_ops(const Model& model, const SessionOptions& options, int64_t tokens,
                                               int64_t batch);

// Returns the roofline time of a call in milliseconds: the sum over its ops of the time at the limit of products or at
// the limit of memory, whichever is longer. Returns nothing where the ops or the limits aren't known.
std::optional<double> roofline_ms(const Measurement& measurement, const Limits& limits);

// Bytes of weights that the encoder's products read once for `tokens` tokens. Throws as measure().
uint64_t encoder_weight_bytes(const Model& model, int64_t tokens);

// For the way between the driver and the process that measures. Without Case::model, which needn't be UTF-8.
void to_json(nlohmann::json& json, const Case& what);
void from_json(const nlohmann::json& json, Case& what);
void to_json(nlohmann::json& json, const Measurement& measurement);
void from_json(const nlohmann::json& json, Measurement& measurement);

}  // namespace linformer::bench
