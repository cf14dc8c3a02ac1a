// The instruction sets that this build has kernels for: those that LINFORMER_KERNELS names in CMake, and scalar. The
// machine may lack some of them.
#pragma once

#include <string_view>

#include "base/cpu.h"
#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Returns whether this build has kernels for the instruction set or extension `name`, which is spelt as in
// LINFORMER_KERNELS and isn't scalar.
constexpr bool build_has_kernels(std::string_view name) {
  std::string_view rest = LINFORMER_CARRIED_KERNELS;  // The names are separated by commas.
  while (!rest.empty()) {
    const size_t end = rest.find(',');
    if (rest.substr(0, end) == name) return true;
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  return false;
}

constexpr bool build_has_kernels(Extension extension) {
  return build_has_kernels(std::string_view(name_of(extension)));
}

}  // namespace LINFORMER_NAMESPACE
