// What the machine can do at most, measured: loops that only multiply and add in registers, and loops that only read
// memory. Figures of a model are shares of these.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "linformer/types.h"

namespace linformer::bench {

struct Rate {
  double giga = 0;          // operations (a multiply-add is two) or bytes a second, all threads; 0: can't be said
  std::string instruction;  // empty where this machine, or this program, has none for the type
};

struct Limits {
  Rate f32, f16, bf16, int8, memory;  // f16: of a GPU
  // Nanoseconds that a word takes to another thread and back, the least and the most that was measured; 0: one thread.
  // A host may move a virtual machine's processors apart in the middle of a run; data that threads share then takes
  // longer to reach another thread.
  double least_round_trip = 0, most_round_trip = 0;

  const Rate& of(ElementType type) const {
    if (type == ElementType::f16 && f16.giga > 0) return f16;
    return type == ElementType::int8 ? int8 : type == ElementType::bf16 ? bf16 : f32;
  }
  // The larger rate of each, since a slow moment of the machine is no limit, and the range of round trips.
  void raise(const Limits& other);
};

// Takes about `seconds`, and at most about two and a half. With less time, a busy machine lowers the rates more.
Limits measure_limits(int threads, double seconds);
// Measures a GPU: the best rate of cuBLASLt's products, of [side, side] matrices or of a feed-forward layer's shapes,
// and the rate of copies of side^2 floats in its memory. Throws std::runtime_error where there is no GPU.
Limits measure_device_limits(int device, int64_t side = 8192);
// "cuda:0, compute capability 9.0"; throws likewise.
std::string device_text(int device);

void to_json(nlohmann::ordered_json& json, const Limits& limits);

}  // namespace linformer::bench
