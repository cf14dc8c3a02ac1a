#include "linformer/build_info.h"

#include <cstdio>
#include <cstring>

#include "base/cpu.h"
#include "gemm/backend_version.h"
#include "gemm/gemm.h"
#include "io/container.h"
#include "kernels/carried.h"
#include "kernels/kernels.h"

namespace LINFORMER_NAMESPACE {
namespace {

struct Named {
  Extension extension;
  const char* name;
};
constexpr Named of_avx512[] = {
    {Extension::avx512_vnni, " vnni"}, {Extension::avx512_bf16, " bf16"}, {Extension::amx, " amx"}};
constexpr Named of_neon[] = {
    {Extension::neon_dotprod, " dotprod"}, {Extension::neon_i8mm, " i8mm"}, {Extension::neon_bf16, " bf16"}};

// The instruction sets of this kind of processor, the best first.
#if defined(__x86_64__)
constexpr Isa sets[] = {Isa::avx512, Isa::avx2, Isa::scalar};
#elif defined(__aarch64__)
constexpr Isa sets[] = {Isa::neon, Isa::scalar};
#else
constexpr Isa sets[] = {Isa::scalar};
#endif

template <size_t capacity>
void append(char (&text)[capacity], const char* more) {
  const size_t length = std::strlen(text);
  std::snprintf(text + length, capacity - length, "%s", more);
}

// Writes to info->reason why `isa` is used. `asked` says whether the environment asks for it.
void write_isa_reason(Isa isa, bool asked, BuildInfo* info) {
  if (asked) {
    std::snprintf(info->reason, sizeof info->reason, "%s: LINFORMER_ISA in the environment says so", name_of(isa));
    return;
  }
  append(info->reason, name_of(isa));
  for (const Isa better : sets) {
    if (better == isa) break;
    const char* missing = missing_for(better);
    append(info->reason, better == sets[0] ? ": " : ", ");
    append(info->reason, missing == nullptr ? "this build lacks " : "this machine lacks ");
    append(info->reason, missing == nullptr ? name_of(better) : missing);
  }
  if (isa != Isa::avx512 && isa != Isa::neon) return;
  append(info->reason, ": the best instruction set, with");
  char lacking[sizeof info->reason] = {};  // Extensions that the machine has and the build lacks.
  bool any = false;
  for (const Named& named : isa == Isa::avx512 ? of_avx512 : of_neon) {
    if (!machine_has(named.extension)) continue;
    if (!build_has_kernels(named.extension)) {
      append(lacking, named.name);
      continue;
    }
    append(info->reason, named.name);
    any = true;
  }
  if (!any) append(info->reason, " no extension");
  if (lacking[0] == '\0') return;
  append(info->reason, "; this build lacks");
  append(info->reason, lacking);
}

}  // namespace

Result<Version> backend_version(BackendKind backend) { return opened_backend_version(backend); }

BuildInfo build_info() {
  BuildInfo info;
  info.version = library_version();
  info.format = container_version;
  info.has_onednn = has_backend(BackendKind::onednn);
  info.has_openblas = has_backend(BackendKind::openblas);
#if defined(LINFORMER_HAS_CUDA)
  info.has_cuda = true;
#endif
  const Result<Isa> asked = isa_from_environment();
  const Kernels* kernels = kernels_for(Isa::automatic);
  if (kernels == nullptr) {
    append(info.reason, "none: ");
    append(info.reason, asked.ok() ? "this machine or build lacks what LINFORMER_ISA asks for"
                                   : "LINFORMER_ISA in the environment names no instruction set");
  } else {
    info.isa = kernels->isa;
    write_isa_reason(info.isa, asked.ok() && *asked != Isa::automatic, &info);
  }
  std::snprintf(info.text, sizeof info.text, "linformer %u.%u.%u, format %u, native%s%s%s, %s", info.version.major,
                info.version.minor, info.version.patch, info.format, info.has_onednn ? " onednn" : "",
                info.has_openblas ? " openblas" : "", info.has_cuda ? " cuda" : "", info.reason);
  return info;
}

}  // namespace LINFORMER_NAMESPACE
