// Builds the table of an instruction set from its Lanes struct.
#pragma once

#include <type_traits>

#include "kernels/generic/gemm.h"
#include "kernels/generic/rows.h"
#include "kernels/kernels.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Returns the table. Int8Product is void if the int8 product of the set is in another translation unit.
template <class L, class Int8Product>
constexpr Kernels make_kernels(Isa isa) {
  Kernels k;
  k.isa = isa;
  k.gemm_f32 = &multiply_all<FloatProduct<L>>;
  if constexpr (!std::is_void_v<Int8Product>) k.gemm_int8 = &multiply_all<Int8Product>;
  k.pack_panel = &pack_panel<L>;
  k.widen_panel = &widen_panel<L>;
  k.softmax_rows = &softmax_rows<L>;
  k.softmax_step = &softmax_step<L, ElementType::f32>;
  k.scale_rows = &scale_rows<L>;
  k.norm_rows = &norm_rows<L>;
  k.rotate_rows = &rotate_rows<L>;
  k.activate = &activate<L>;
  k.add = &add<L>;
  k.multiply = &multiply<L>;
  k.widen = &widen<L>;
  k.quantize_rows = &quantize_rows<L>;
  return k;
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
