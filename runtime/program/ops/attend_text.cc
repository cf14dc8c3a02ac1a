#include <algorithm>

#include "program/ops/text.h"

namespace LINFORMER_NAMESPACE::ops {

void list(const Attend& op, TextContext& context) {
  const Attention& a = context.attention();
  const int64_t source = context.source();
  int64_t keys = source;
  for (int32_t g = 0; g < a.groups && !a.full; ++g) {
    const int64_t k = context.program().group(a, g).projections[0].rows_of(source);
    keys = g == 0 ? k : std::max(keys, k);
  }
  context.view(op.out);
  FixedText& text = context.text();
  text.add(" = %lld heads of %lld over %lld %s%s%s%s", static_cast<long long>(a.heads),
           static_cast<long long>(a.d_head), static_cast<long long>(keys),
           a.full                   ? "keys"
           : source < a.short_below ? "compressed scores"
                                    : "compressed keys",
           a.causal ? ", causal" : "", a.excludes_masked ? ", masked keys excluded" : "",
           a.position_bias.present() ? ", position bias" : "");
  if (a.window > 0) text.add(", window %lld", static_cast<long long>(a.window));
}

}  // namespace LINFORMER_NAMESPACE::ops
