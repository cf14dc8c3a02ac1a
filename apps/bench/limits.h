// Measures the limits of a processor, with loops that only multiply and add in registers and loops that only read
// memory, or of a GPU, with products and copies. The rates of models are reported as shares of these limits.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "linformer/types.h"

namespace linformer::bench {

struct Rate {
  // In 1e9 operations or bytes per second of all threads together. A multiply-add is two operations. 0 if unknown.
  double giga = 0;
  std::string instruction;  // Empty if the machine or this program has no instruction for the type.
};

struct Limits {
  Rate f32, f16, bf16, int8, memory;  // f16 is measured on GPUs only.
  // The shortest and the longest measured time in nanoseconds in which a stored number reached another thread and an
  // answer came back. 0 with one thread. The time can change during a run if a host moves the processors of a virtual
  // machine further apart.
  double least_round_trip = 0, most_round_trip = 0;

  const Rate& of(ElementType type) const {
    if (type == ElementType::f16 && f16.giga > 0) return f16;
    return type == ElementType::int8 ? int8 : type == ElementType::bf16 ? bf16 : f32;
  }
  // Takes the larger of both rates for each limit, because a lower rate only shows that the machine was slow for a
  // moment. Extends the range of round trips.
  void raise(const Limits& other);
};

// Measures the limits of the processor. Takes about `seconds`, but at most about 2.5 seconds. With less time, other
// work on the machine lowers the rates more.
Limits measure_limits(int threads, double seconds);
// Measures a GPU: the best rate of cuBLASLt's products, of [side, side] matrices or of a feed-forward layer's shapes,
// and the rate of copies of side^2 floats in its memory. Throws std::runtime_error if there is no GPU.
Limits measure_device_limits(int device, int64_t side = 8192);
// Returns a text such as "cuda:0, compute capability 9.0". Throws std::runtime_error if there is no GPU.
std::string device_text(int device);

void to_json(nlohmann::ordered_json& json, const Limits& limits);

}  // namespace linformer::bench
