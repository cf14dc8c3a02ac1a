// What the machine can do at most, measured: loops that only multiply and add in registers, and loops that only read
// memory. Figures of a model are shares of these.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "linformer/types.h"

namespace linformer::bench {

struct Rate {
  double giga = 0;          // operations (a multiply-add is two) or bytes a second, all threads; 0: can't be said
  std::string instruction;  // empty where this machine, or this program, has none for the type
};

struct Limits {
  Rate f32, bf16, int8, memory;

  const Rate& of(ElementType type) const {
    return type == ElementType::int8 ? int8 : type == ElementType::bf16 ? bf16 : f32;
  }
  // The larger rate of each: a slow moment of the machine is no limit.
  void raise(const Limits& other);
};

// Takes about two seconds.
Limits measure_limits(int threads);

void to_json(nlohmann::ordered_json& json, const Limits& limits);

}  // namespace linformer::bench
