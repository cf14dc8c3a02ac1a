// What the library was built with and what it uses on this machine, for logs and bug reports.
#pragma once

#include <cstdint>

#include "linformer/status.h"
#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct BuildInfo {
  Version version;
  uint32_t format = 0;  // The newest version of the model file that the library reads.
  // The instruction set that sessions with Isa::automatic take on this machine. If it is Isa::automatic itself, such
  // sessions fail, and `reason` says why.
  Isa isa = Isa::automatic;
  bool has_onednn = false;  // Built in. The backends' libraries are opened when a session asks for them.
  bool has_openblas = false;
  bool has_cuda = false;
  // Says why this instruction set is used, and which extensions it has: "avx2: this machine lacks avx512f".
  char reason[160] = {};
  // All of this in one line: "linformer 0.1.0, format 1, native onednn, avx512 with vnni bf16 amx (...)".
  char text[320] = {};
};

// Looks at the processor, and at LINFORMER_ISA in the environment. Any thread may call it.
BuildInfo build_info();

// Returns the version of the backend's library that sessions call. It opens the library as a session does, so this may
// be another version than the build found. For native it returns this library's own version. Returns unsupported if the
// build lacks the backend or the machine lacks its library, with a message that names the package. Any thread may call
// it.
Result<Version> backend_version(BackendKind backend);

}  // namespace LINFORMER_NAMESPACE
