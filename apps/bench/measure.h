// Measures one configuration of a model in the calling process.
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
  std::string model;            // The path of the model file.
  Access access = Access::map;  // How the file is read.
  BackendKind backend = BackendKind::native;
  Isa isa = Isa::automatic;
  Compute compute = Compute::automatic;
  AttentionCompute attention_compute = AttentionCompute::automatic;
  int device = -1;  // The number of the GPU (CudaOptions::device), or -1 for the CPU.
  int threads = 1;
  int64_t tokens = 0;                 // The tokens of each text. If 0, as many as the model can read.
  int64_t batch = 1;                  // The number of texts in a call.
  double seconds = 2;                 // The calls take at least this time together.
  int warm_ups = 2, least_calls = 5;  // There are fewer calls if they take more than five times `seconds`.
  bool profile = false;
};

struct Measurement {
  int64_t tokens = 0;             // The tokens of each text.
  std::string isa;                // The instruction set that the session chose.
  std::string backend_version;    // The version of the library that multiplies. Empty for the native kernels.
  ElementType weights, compute;   // The types of the weights and of the products of the encoder.
  ElementType attention_compute;  // The type of attention's two products: queries by keys, and weights by values.
  std::string precision;          // Plan::precision, a sentence that explains the choice of the types.
  int calls = 0;
  double min_ms = 0, median_ms = 0, p99_ms = 0;  // The times of a call.
  double gigaflop = 0;                           // The operations of a call, / 1e9.
  // The part of `gigaflop` in products with weights that are computed in another type than `compute`, by ElementType.
  std::array<double, 4> gigaflop_of_others = {};
  uint64_t weight_bytes = 0;  // The bytes of weights that a call reads (encoder_weight_bytes()).
  uint64_t model_bytes = 0;   // The size of the file.
  uint64_t arena_bytes = 0;   // The planned size of the arena.
  uint64_t used_bytes = 0;    // The part of the arena that was used.
  uint64_t peak_bytes = 0;    // The largest resident set of the process, pages of files included.
  uint64_t own_bytes = 0;     // peak_bytes without pages of files: working memory, stack and heap.
  // One entry for each op of a call on a GPU, and none on a CPU: the operations of its products / 1e9, and the bytes
  // that it reads and writes / 1e9, where each byte counts once.
  std::vector<std::array<double, 2>> ops;
  nlohmann::ordered_json profile;  // Null if Case::profile is false.
};

// A function that returns a session's profile as JSON, for Case::profile.
using DescribeProfile = std::function<nlohmann::ordered_json(const Session&)>;

// Loads the model, warms up and measures. The output is the mean of the encoder's rows, so that every row must be
// computed and no row is copied to the caller. Throws std::runtime_error with the runtime's error.
Measurement measure(const Case& what, const DescribeProfile& describe_profile = {});

// The number of floating-point operations for one text in the lowered program. A multiply-add is two. Embedding, layers
// and the norm after the last layer count; heads don't, because they aren't measured.
struct Flop {
  double all = 0;
  std::array<double, 4> weights = {};  // The operations of products with weights, by the type they are computed in.
};
// Returns the operations for one text of `tokens` tokens. Throws std::runtime_error.
Flop encoder_flop(const Model& model, const SessionOptions& options, int64_t tokens);

// Returns Measurement::ops of a call with `batch` texts. Throws std::runtime_error.
std::vector<std::array<double, 2>> encoder_op_costs(const Model& model, const SessionOptions& options, int64_t tokens,
                                                    int64_t batch);

// Returns the roofline time of a call in milliseconds: the sum over its ops of the time at the limit of products or at
// the limit of memory, whichever is longer. Returns nothing if the ops or the limits aren't known.
std::optional<double> roofline_ms(const Measurement& measurement, const Limits& limits);

// Returns the bytes of the weights that the encoder multiplies with for a text of `tokens` tokens. A weight counts
// once, however often it is used. Of E and F of a Linformer, only the columns for these tokens count. Convolutions that
// compress keys and values are not counted.
uint64_t encoder_weight_bytes(const Model& model, int64_t tokens);

// These functions pass cases and measurements between the parent and the process that measures. Case::model is left
// out, because it need not be UTF-8.
void to_json(nlohmann::json& json, const Case& what);
void from_json(const nlohmann::json& json, Case& what);
void to_json(nlohmann::json& json, const Measurement& measurement);
void from_json(const nlohmann::json& json, Measurement& measurement);

}  // namespace linformer::bench
