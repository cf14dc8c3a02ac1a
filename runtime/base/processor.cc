#include "base/processor.h"

#include <cstring>

namespace LINFORMER_NAMESPACE {

Processor processor_of(const platform::CpuId& zero, const platform::CpuId& one) {
  Processor processor;
  const uint32_t letters[] = {zero.ebx, zero.edx, zero.ecx};
  static_assert(sizeof letters + 1 == sizeof processor.vendor);
  std::memcpy(processor.vendor, letters, sizeof letters);
  const uint32_t family = one.eax >> 8 & 0xf, model = one.eax >> 4 & 0xf;
  const uint32_t more_family = one.eax >> 20 & 0xff, more_model = one.eax >> 16 & 0xf;
  processor.family = family == 0xf ? family + more_family : family;
  processor.model = family >= 6 ? more_model << 4 | model : model;
  processor.is_virtual = (one.ecx >> 31 & 1) != 0;
  return processor;
}

Processor this_processor() {
#if defined(__x86_64__)
  platform::CpuId zero, one;
  if (platform::cpuid(0, 0, &zero) && platform::cpuid(1, 0, &one)) return processor_of(zero, one);
#endif
  return {};
}

}  // namespace LINFORMER_NAMESPACE
