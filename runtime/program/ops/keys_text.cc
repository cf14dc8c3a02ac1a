#include <algorithm>

#include "program/ops/text.h"

namespace LINFORMER_NAMESPACE::ops {

void write_text(const Compress& op, TextContext& context) {
  const int64_t source = context.source_rows();
  const auto projection = [&](int32_t g) -> const HeadProjection& {
    return context.program().group(op.groups, g).projections[op.side];
  };
  constexpr const char* kinds[] = {"linear", "convolution", "mean pooling", "max pooling", "none"};
  FixedText& text = context.text();
  text.add("%s = %s of ", info(op.out.buffer).name, kinds[static_cast<int>(projection(0).kind)]);
  View from = op.projected;
  from.rows = source;
  context.write_view(from);
  text.add(" to k");
  const int32_t shown = std::min(op.groups.count, 4);
  for (int32_t g = 0; g < shown; ++g) text.add(" %lld", static_cast<long long>(projection(g).key_count(source)));
  if (shown < op.groups.count) text.add(" ... (%d heads)", op.groups.count);
}

void write_text(const PutTokens& op, TextContext& context) {
  context.write_view(op.out);
  context.text().add(" has the rows of the first tokens");
  for (int32_t i = 0; i < op.count; ++i) context.text().add(" %u", op.tokens[i]);
}

void write_text(const Pack& op, TextContext& context) {
  context.text().add("%s = panels of %d x %s", info(op.out.buffer).name, op.groups.count, op.transposed ? "K^T" : "V");
}

void write_text(const PackRows& op, TextContext& context) {
  context.text().add("%s = panels of %d x %s%s[%lld, %lld]", info(op.out.buffer).name, op.groups.count,
                     info(op.rows.buffer).name, op.transposed ? "^T" : "",
                     static_cast<long long>(context.source_rows()), static_cast<long long>(op.d_head));
}

}  // namespace LINFORMER_NAMESPACE::ops
