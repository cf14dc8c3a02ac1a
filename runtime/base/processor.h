// The identity of the processor, and the features on which the choice of a precision depends.
#pragma once

#include <cstdint>

#include "base/platform.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct Processor {
  // The vendor, as CPUID reports it: "GenuineIntel", "AuthenticAMD", "HygonGenuine". On processors other than x86-64,
  // vendor is empty, and family and model are 0.
  char vendor[13] = "";
  uint32_t family = 0, model = 0;  // Including the extended family and model.
  // Whether CPUID reports a virtual machine. In a virtual machine, CPUID may report another vendor, family and model
  // than the physical processor has, but a program can use all features that it reports.
  bool is_virtual = false;
  // Whether instructions that multiply bf16 can be used: the processor and the operating system support them, and the
  // build has kernels for them.
  bool avx512_bf16 = false, amx = false, neon_bf16 = false;
};

// Returns vendor, family, model and is_virtual from the leaves 0 and 1 of CPUID. It depends only on its arguments, and
// leaves the features false.
Processor processor_from_cpuid(const platform::CpuId& leaf_0, const platform::CpuId& leaf_1);

// Returns processor_from_cpuid() for the processor that this process runs on.
Processor this_processor();

}  // namespace LINFORMER_NAMESPACE
