#include <algorithm>

#include "program/ops/text.h"

namespace LINFORMER_NAMESPACE::ops {

void list(const Compress& op, TextContext& context) {
  const Attention& a = context.attention();
  const int64_t source = context.source();
  const auto projection = [&](int32_t g) -> const HeadProjection& {
    return context.program().group(a, g).projections[op.side];
  };
  constexpr const char* kinds[] = {"linear", "convolution", "mean pooling", "max pooling", "none"};
  FixedText& text = context.text();
  text.add("%s = %s of ", info(op.out.buffer).name, kinds[static_cast<int>(projection(0).kind)]);
  View from = op.projected;
  from.rows = source;
  context.view(from);
  text.add(" to k");
  const int32_t shown = std::min(a.groups, 4);
  for (int32_t g = 0; g < shown; ++g) text.add(" %lld", static_cast<long long>(projection(g).rows_of(source)));
  if (shown < a.groups) text.add(" ... (%d heads)", a.groups);
}

void list(const Pack&, TextContext& context) {
  context.text().add("compressed keys, values = panels of %d x K^T, V", context.attention().groups);
}

void list(const PackRows&, TextContext& context) {
  const Attention& a = context.attention();
  context.text().add("keys, values = panels of %d x compressed keys^T, compressed values[%lld, %lld]", a.groups,
                     static_cast<long long>(context.source()), static_cast<long long>(a.d_head));
}

}  // namespace LINFORMER_NAMESPACE::ops
