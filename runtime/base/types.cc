#include "linformer/types.h"

namespace linformer {

const char* name_of(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return "f32";
    case ElementType::bf16:
      return "bf16";
    case ElementType::f16:
      return "f16";
    case ElementType::int8:
      return "int8";
  }
  return "unknown";
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::none:
      return "none";
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::tanh:
      return "tanh";
    case Activation::leaky_relu:
      return "leaky_relu";
    case Activation::sigmoid:
      return "sigmoid";
  }
  return "unknown";
}

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

}  // namespace linformer
