#include "base/processor.h"

#include <cstring>

namespace LINFORMER_NAMESPACE {

Processor processor_from_cpuid(const platform::CpuId& leaf_0, const platform::CpuId& leaf_1) {
  Processor processor;
  const uint32_t letters[] = {leaf_0.ebx, leaf_0.edx, leaf_0.ecx};
  static_assert(sizeof letters + 1 == sizeof processor.vendor);
  std::memcpy(processor.vendor, letters, sizeof letters);
  const uint32_t family = leaf_1.eax >> 8 & 0xf, model = leaf_1.eax >> 4 & 0xf;
  const uint32_t more_family = leaf_1.eax >> 20 & 0xff, more_model = leaf_1.eax >> 16 & 0xf;
  processor.family = family == 0xf ? family + more_family : family;
  processor.model = family >= 6 ? more_model << 4 | model : model;
  processor.is_virtual = (leaf_1.ecx >> 31 & 1) != 0;
  return processor;
}

Processor this_processor() {
#if defined(__x86_64__)
  platform::CpuId leaf_0, leaf_1;
  if (platform::cpuid(0, 0, &leaf_0) && platform::cpuid(1, 0, &leaf_1)) return processor_from_cpuid(leaf_0, leaf_1);
#endif
  return {};
}

}  // namespace LINFORMER_NAMESPACE
