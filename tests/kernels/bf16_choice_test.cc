// Tests for which processors the runtime chooses bf16. The test has the values that CPUID returns on these processors,
// so it runs on any machine.
#include "kernels/bf16_choice.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "base/cpu.h"
#include "kernels/carried.h"
#include "kernels/kernels.h"

namespace linformer_test::bf16_choice_test {
namespace {

using namespace linformer;

// Returns leaf 0 of CPUID for this vendor.
platform::CpuId leaf_of(const char (&vendor)[13]) {
  platform::CpuId leaf;
  std::memcpy(&leaf.ebx, vendor, 4);
  std::memcpy(&leaf.edx, vendor + 4, 4);
  std::memcpy(&leaf.ecx, vendor + 8, 4);
  return leaf;
}

constexpr char intel[] = "GenuineIntel", amd[] = "AuthenticAMD", hygon[] = "HygonGenuine", zhaoxin[] = "  Shanghai  ",
               nobody[] = "GenuineXXXXX", none[13] = "";
constexpr uint32_t in_a_virtual_machine = 1u << 31;  // A bit of ecx in leaf 1.

struct Features {
  bool avx512_bf16 = false, amx = false, neon_bf16 = false;
};
constexpr Features no_bf16 = {}, avx512_bf16 = {.avx512_bf16 = true}, amx = {.avx512_bf16 = true, .amx = true},
                   neon_bf16 = {.neon_bf16 = true};

struct Row {
  const char* name;
  const char (&vendor)[13];
  uint32_t signature;  // The value of eax in leaf 1.
  uint32_t family, model;
  uint32_t flags;
  Features features;
  bool bf16;           // The expected choice.
  const char* reason;  // A part of the expected reason.
};

const Row rows[] = {
    {"Zen 2", amd, 0x00830f10, 23, 49, 0, no_bf16, false, "no instruction"},
    {"Zen 3", amd, 0x00a20f10, 25, 33, 0, no_bf16, false, "no instruction"},
    {"Zen 4, desktop", amd, 0x00a60f12, 25, 97, 0, avx512_bf16, true, "twice"},
    {"Zen 4, EPYC", amd, 0x00a10f11, 25, 17, 0, avx512_bf16, true, "twice"},
    {"Zen 4, EPYC, virtual", amd, 0x00a10f11, 25, 17, in_a_virtual_machine, avx512_bf16, true, "twice"},
    {"Zen 5, desktop", amd, 0x00b40f40, 26, 68, 0, avx512_bf16, true, "twice"},
    {"Zen 5, EPYC, virtual", amd, 0x00b00f21, 26, 2, in_a_virtual_machine, avx512_bf16, true, "twice"},
    {"Zen 5 in the model of Zen 3", amd, 0x00a00f11, 25, 1, in_a_virtual_machine, avx512_bf16, true, "twice"},
    {"AMD with AMX", amd, 0x00c00f00, 27, 0, 0, amx, true, "AMX"},
    {"Skylake-X", intel, 0x00050654, 6, 85, 0, no_bf16, false, "no instruction"},
    {"Cascade Lake", intel, 0x00050657, 6, 85, 0, no_bf16, false, "no instruction"},
    {"Cooper Lake", intel, 0x0005065b, 6, 85, 0, avx512_bf16, true, "Cooper Lake"},
    {"the model of Cooper Lake, virtual", intel, 0x0005065b, 6, 85, in_a_virtual_machine, avx512_bf16, false, "half"},
    {"Ice Lake", intel, 0x000606a6, 6, 106, 0, no_bf16, false, "no instruction"},
    {"Tiger Lake", intel, 0x000806c1, 6, 140, 0, no_bf16, false, "no instruction"},
    {"Rocket Lake", intel, 0x000a0671, 6, 167, 0, no_bf16, false, "no instruction"},
    {"Alder Lake", intel, 0x00090672, 6, 151, 0, no_bf16, false, "no instruction"},
    {"Alder Lake, AVX-512 not fused off", intel, 0x00090672, 6, 151, 0, avx512_bf16, false, "half"},
    {"Sapphire Rapids", intel, 0x000806f8, 6, 143, 0, amx, true, "AMX"},
    {"Sapphire Rapids, AMX hidden", intel, 0x000806f8, 6, 143, in_a_virtual_machine, avx512_bf16, false, "half"},
    {"Emerald Rapids", intel, 0x000c06f2, 6, 207, 0, amx, true, "AMX"},
    {"Emerald Rapids, AMX absent", intel, 0x000c06f2, 6, 207, 0, avx512_bf16, false, "half"},
    {"Granite Rapids", intel, 0x000a06d1, 6, 173, 0, amx, true, "AMX"},
    {"Granite Rapids, AMX hidden", intel, 0x000a06d1, 6, 173, in_a_virtual_machine, avx512_bf16, false, "half"},
    {"Sapphire Rapids in Rocket Lake's model", intel, 0x000a0671, 6, 167, in_a_virtual_machine, amx, true, "AMX"},
    {"Sapphire Rapids in Rocket Lake's model, AMX hidden", intel, 0x000a0671, 6, 167, in_a_virtual_machine, avx512_bf16,
     false, "half"},
    {"AVX10, of a family to come", intel, 0x00300f10, 18, 1, 0, avx512_bf16, false, "half"},
    {"AVX10 and AMX, of a family to come", intel, 0x00400f10, 19, 1, 0, amx, true, "AMX"},
    {"Hygon Dhyana", hygon, 0x00900f22, 24, 2, 0, no_bf16, false, "no instruction"},
    {"Hygon with AVX512-BF16", hygon, 0x00900f81, 24, 8, 0, avx512_bf16, false, "not known"},
    {"Zhaoxin", zhaoxin, 0x000307b0, 7, 59, 0, no_bf16, false, "no instruction"},
    {"Zhaoxin with AVX512-BF16", zhaoxin, 0x000307b0, 7, 59, 0, avx512_bf16, false, "not known"},
    {"a vendor that nobody knows", nobody, 0x0005065b, 6, 85, 0, avx512_bf16, false, "not known"},
    {"a vendor that nobody knows, with AMX", nobody, 0x0005065b, 6, 85, 0, amx, true, "AMX"},
    {"a vendor of zeros", none, 0, 0, 0, in_a_virtual_machine, avx512_bf16, false, "not known"},
    {"Arm without BF16 (Neoverse N1, Cortex-A76)", none, 0, 0, 0, 0, no_bf16, false, "no instruction"},
    {"Arm with I8MM and without BF16", none, 0, 0, 0, 0, no_bf16, false, "no instruction"},
    {"Arm with BF16 (Neoverse N2, V1, V2)", none, 0, 0, 0, 0, neon_bf16, true, "BFDOT"},
};

TEST_CASE("bf16 is chosen by the processor's vendor, model and instructions") {
  for (const Row& row : rows) {
    CAPTURE(std::string(row.name));
    platform::CpuId one;
    one.eax = row.signature;
    one.ecx = row.flags;
    Processor processor = processor_from_cpuid(leaf_of(row.vendor), one);
    CHECK(std::string(processor.vendor) == row.vendor);
    CHECK(processor.family == row.family);
    CHECK(processor.model == row.model);
    CHECK(processor.is_virtual == (row.flags != 0));
    processor.avx512_bf16 = row.features.avx512_bf16;
    processor.amx = row.features.amx;
    processor.neon_bf16 = row.features.neon_bf16;
    const Bf16Choice choice = choose_bf16(processor);
    CHECK(choice.faster == row.bf16);
    CHECK_MESSAGE(std::string(choice.reason).find(row.reason) != std::string::npos, std::string(choice.reason));
  }
}

TEST_CASE("bf16 is never chosen without an instruction for it, and always with AMX") {
  for (const Row& row : rows) {
    CAPTURE(std::string(row.name));
    platform::CpuId one;
    one.eax = row.signature;
    Processor processor = processor_from_cpuid(leaf_of(row.vendor), one);
    CHECK(!choose_bf16(processor).faster);
    processor.avx512_bf16 = processor.amx = true;
    CHECK(choose_bf16(processor).faster);
  }
}

TEST_CASE("the kernel tables have the choice for this machine") {
  Processor processor = this_processor();
  const auto usable = [](Extension extension) { return build_has_kernels(extension) && machine_has(extension); };
  processor.avx512_bf16 = usable(Extension::avx512_bf16);
  processor.amx = processor.avx512_bf16 && usable(Extension::amx);
  processor.neon_bf16 = usable(Extension::neon_bf16);
  const Bf16Choice choice = choose_bf16(processor);
  std::printf("this machine: %s family %u model %u%s: %s\n", processor.vendor, processor.family, processor.model,
              processor.is_virtual ? ", virtual" : "", choice.reason);
  for (Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512, Isa::neon}) {
    const Kernels* table = kernels_for(isa);
    if (table == nullptr) continue;
    const bool has_bf16 = isa == Isa::avx512 || isa == Isa::neon;
    CHECK(table->bf16.faster == (has_bf16 && choice.faster));
    CHECK(std::string(table->bf16.reason) == (has_bf16 ? choice.reason : Bf16Choice().reason));
  }
}

}  // namespace

}  // namespace linformer_test::bf16_choice_test
