// Which processor this is, and what of it a choice of precision depends on.
#pragma once

#include <cstdint>

#include "base/platform.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct Processor {
  // As CPUID says: "GenuineIntel", "AuthenticAMD", "HygonGenuine". Empty and 0 on other processors than x86-64's.
  char vendor[13] = "";
  uint32_t family = 0, model = 0;  // with their extended parts
  // A virtual machine may show another vendor, family and model than the processor under it has; its features are those
  // that a program can use.
  bool is_virtual = false;
  // Instructions that multiply bf16 and that a program can use: the processor and the operating system have them, and
  // the build has kernels for them.
  bool avx512_bf16 = false, amx = false, neon_bf16 = false;
};

// Vendor, family, model and is_virtual from CPUID's leaves 0 and 1. A pure function; the features are left false.
Processor processor_of(const platform::CpuId& zero, const platform::CpuId& one);

// The same of the processor at hand.
Processor this_processor();

}  // namespace LINFORMER_NAMESPACE
