#include "base/cpu.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

namespace linformer_test::cpu_test {
namespace {

using namespace linformer;

std::string words(const char* missing) { return missing == nullptr ? "nothing" : missing; }

TEST_CASE("machine_has() agrees with missing_for()") {
  for (Isa isa : {Isa::automatic, Isa::scalar, Isa::avx2, Isa::avx512, Isa::neon}) {
    CHECK(machine_has(isa) == (missing_for(isa) == nullptr));
    std::printf("%s: this machine lacks %s\n", name_of(isa), words(missing_for(isa)).c_str());
  }
  for (Extension extension : {Extension::avx512_vnni, Extension::avx512_bf16, Extension::amx, Extension::neon_dotprod,
                              Extension::neon_i8mm, Extension::neon_bf16}) {
    CHECK(machine_has(extension) == (missing_for(extension) == nullptr));
    std::printf("extension %d: this machine lacks %s\n", static_cast<int>(extension),
                words(missing_for(extension)).c_str());
  }
  CHECK(missing_for(Isa::automatic) == nullptr);
  CHECK(missing_for(Isa::scalar) == nullptr);
#if defined(__x86_64__)
  CHECK(words(missing_for(Isa::neon)) == "an aarch64 processor");
  CHECK(words(missing_for(Extension::neon_bf16)) == "an aarch64 processor");
#else
  CHECK(words(missing_for(Isa::avx2)) == "an x86-64 processor");
  CHECK(words(missing_for(Extension::amx)) == "an x86-64 processor");
#endif
#if defined(__aarch64__)
  CHECK(missing_for(Isa::neon) == nullptr);
#endif
}

// With musl the builtin always returns 0, and clang's builtin doesn't know all names.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
TEST_CASE("GCC's detection gives the same answers") {
  __builtin_cpu_init();
  struct Answer {
    const char* name;
    bool has;
  };
  // Returns the first name that the compiler's detection lacks, or "nothing". `before` is a name that was already found
  // missing.
  const auto first = [](const char* before, std::initializer_list<Answer> answers) -> std::string {
    if (before != nullptr) return before;
    for (const Answer& answer : answers) {
      if (!answer.has) return answer.name;
    }
    return "nothing";
  };
#define LINFORMER_ASKED(name) \
  { name, __builtin_cpu_supports(name) != 0 }
  const std::string avx2 = first(nullptr, {LINFORMER_ASKED("avx2"), LINFORMER_ASKED("fma"), LINFORMER_ASKED("f16c")});
  CHECK(words(missing_for(Isa::avx2)) == avx2);
  CHECK(words(missing_for(Isa::avx512)) == first(missing_for(Isa::avx2), {LINFORMER_ASKED("avx512f")}));
  const std::string vnni =
      first(missing_for(Isa::avx512), {LINFORMER_ASKED("avx512bw"),
                                       LINFORMER_ASKED("avx512cd"),
                                       LINFORMER_ASKED("avx512dq"),
                                       LINFORMER_ASKED("avx512vl"),
                                       {"avx512_vnni", __builtin_cpu_supports("avx512vnni") != 0}});
  CHECK(words(missing_for(Extension::avx512_vnni)) == vnni);
  const std::string bf16 =
      first(missing_for(Extension::avx512_vnni), {{"avx512_bf16", __builtin_cpu_supports("avx512bf16") != 0}});
  CHECK(words(missing_for(Extension::avx512_bf16)) == bf16);
  const std::string amx =
      first(missing_for(Extension::avx512_bf16), {{"amx_tile", __builtin_cpu_supports("amx-tile") != 0},
                                                  {"amx_bf16", __builtin_cpu_supports("amx-bf16") != 0},
                                                  {"amx_int8", __builtin_cpu_supports("amx-int8") != 0}});
  // GCC doesn't check whether this process may use tiles.
  if (words(missing_for(Extension::amx)) != "the system's permission to use amx tiles") {
    CHECK(words(missing_for(Extension::amx)) == amx);
  }
#undef LINFORMER_ASKED
}
#endif

}  // namespace

}  // namespace linformer_test::cpu_test
