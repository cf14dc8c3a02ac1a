#include "base/types.h"

#include "base/enum_names.h"

namespace LINFORMER_NAMESPACE {

const char* name_of(ElementType type) { return enum_name(type); }

const char* name_of(Pooling pooling) { return enum_name(pooling); }

const char* name_of(HeadKind kind) { return enum_name(kind); }

const char* name_of(TokenizerKind kind) { return enum_name(kind); }

const char* name_of(Activation activation) { return enum_name(activation); }

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::automatic:
      return "automatic";
    case Isa::scalar:
      return "scalar";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::neon:
      return "neon";
  }
  return "unknown";
}

const char* name_of(BackendKind kind) {
  switch (kind) {
    case BackendKind::native:
      return "native";
    case BackendKind::onednn:
      return "onednn";
    case BackendKind::openblas:
      return "openblas";
  }
  return "unknown";
}

}  // namespace LINFORMER_NAMESPACE
