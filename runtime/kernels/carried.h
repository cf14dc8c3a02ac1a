// Which instruction sets this build has kernels for: LINFORMER_KERNELS of CMake, and scalar. A machine may lack them.
#pragma once

#include <string_view>

#include "base/cpu.h"
#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// `name` as LINFORMER_KERNELS has it.
constexpr bool carries(std::string_view name) {
  std::string_view rest = LINFORMER_CARRIED_KERNELS;  // separated by commas
  while (!rest.empty()) {
    const size_t end = rest.find(',');
    if (rest.substr(0, end) == name) return true;
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  return false;
}

constexpr bool carries(Extension extension) { return carries(std::string_view(name_of(extension))); }

}  // namespace LINFORMER_NAMESPACE
