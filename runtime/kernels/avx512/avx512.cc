// The AVX-512 table. It has no int8 and bf16 products. kernels.cc adds those that the machine has.
#include "kernels/avx512/lanes.h"
#include "kernels/generic/table.h"
#include "kernels/tables.h"

namespace LINFORMER_NAMESPACE {

const Kernels avx512_kernels = make_kernels<Avx512Lanes<xsimd::avx512f>, void>(Isa::avx512);

}  // namespace LINFORMER_NAMESPACE
