// What the library was built with, and what it uses on this machine: for logs and reports of faults.
#pragma once

#include <cstdint>

#include "linformer/status.h"
#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct BuildInfo {
  Version version;
  uint32_t format = 0;  // the newest version of the model file that it reads
  Isa isa =
      Isa::automatic;  // what sessions with Isa::automatic take on this machine; that itself: they fail, see reason
  bool has_onednn = false;  // built in; their libraries are opened when a session asks for them
  bool has_openblas = false;
  bool has_cuda = false;
  // Why that instruction set, and what it has beside: "avx2: this machine lacks avx512f".
  char reason[160] = {};
  // All of it in a line: "linformer 0.1.0, format 1, native onednn, avx512 with vnni bf16 amx (...)".
  char text[320] = {};
};

// Asks the processor, and LINFORMER_ISA in the environment. Any thread may call it.
BuildInfo build_info();

// The version of the library that sessions with `backend` call: of the one that this process opens, which need not be
// what the build found. Opens it as such a session does; native is this library itself. unsupported where the build
// lacks the backend or this machine its library, with a sentence that names the package. Any thread may call it.
Result<Version> backend_version(BackendKind backend);

}  // namespace LINFORMER_NAMESPACE
