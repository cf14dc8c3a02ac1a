// bf16 and int8 products by AMX. Tests run their loops with emulated tiles on any machine, and with real tiles if the
// machine has AMX.
#include "kernels/avx512/amx_tiles.h"

namespace LINFORMER_NAMESPACE {
namespace {

template <ElementType element>
void gemm(const GemmArgs& args) {
  AmxTiles<element> tiles;
  multiply_by_tiles(tiles, args);
}

}  // namespace

const GemmKernel amx_gemm_bf16 = &gemm<ElementType::bf16>;
const GemmKernel amx_gemm_int8 = &gemm<ElementType::int8>;

}  // namespace LINFORMER_NAMESPACE
