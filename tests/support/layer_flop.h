// Returns the FLOP of a model's first layer in all calls of a session with a profile. The number shows how often texts
// were run.
#pragma once

#include <doctest/doctest.h>

#include <string_view>

#include "linformer/session.h"

namespace linformer_test {

inline double first_layer_flop(const linformer::Session& session) {
  double sum = 0;
  const auto visit = [](void* context, const linformer::ProgramLine& line) {
    if (std::string_view(line.part) == "layer 0") *static_cast<double*>(context) += line.flop;
  };
  REQUIRE(session.profile(visit, &sum).ok());
  return sum;
}

}  // namespace linformer_test
