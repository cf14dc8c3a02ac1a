#include <algorithm>

#include "program/ops/text.h"

namespace LINFORMER_NAMESPACE::ops {

void write_text(const Attend& op, TextContext& context) {
  const int64_t source = context.source_rows();
  int64_t keys = source;
  for (int32_t g = 0; g < op.groups.count && !op.whole; ++g) {
    const int64_t k = context.program().group(op.groups, g).projections[0].key_count(source);
    keys = g == 0 ? k : std::max(keys, k);
  }
  context.write_view(op.out);
  FixedText& text = context.text();
  text.add(" = %lld heads of %lld over %lld %s%s%s%s", static_cast<long long>(op.heads),
           static_cast<long long>(op.d_head), static_cast<long long>(keys),
           op.whole                  ? "keys"
           : source < op.short_below ? "compressed scores"
                                     : "compressed keys",
           op.causal ? ", causal" : "", op.excludes_masked ? ", masked keys excluded" : "",
           op.position_bias.present() ? ", position bias" : "");
  if (op.window > 0) text.add(", window %lld", static_cast<long long>(op.window));
  const int64_t beside = op.beside > 0 ? context.program().group(op.groups, 0).projections[0].key_count(source) : 0;
  if (beside > 0) text.add(" beside %lld compressed keys", static_cast<long long>(beside));
}

}  // namespace LINFORMER_NAMESPACE::ops
