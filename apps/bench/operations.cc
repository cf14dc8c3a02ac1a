#include "bench/operations.h"

#include <algorithm>
#include <set>
#include <vector>

namespace linformer::bench {
namespace {

// Rows that projection `p` makes of n.
double compressed_rows(const Projection& p, double n) {
  switch (p.kind) {
    case ProjectionKind::linear:
      return p.k;
    case ProjectionKind::convolution:
    case ProjectionKind::mean_pool:
    case ProjectionKind::max_pool:
      return p.stride > 0 ? n / p.stride : n;
    case ProjectionKind::none:
      return n;
  }
  return n;
}

double project_cost(const Projection& p, double n, double width) {
  return p.kind == ProjectionKind::linear ? n * p.k * width : 0;
}

// Multiply-adds of key and value, each compressed first (a projection that both use is applied once) or last.
double key_value(const EncoderDescription& encoder, const AttentionDescription& a, double n) {
  const double d = encoder.d_model, width = static_cast<double>(a.kv_heads) * a.head_dim;
  const std::vector<uint32_t>* lists[] = {&a.key_projections, a.value_is_key ? nullptr : &a.value_projections};
  double first = 0, last = 0;
  std::set<uint32_t> compressed;
  for (const auto* list : lists) {
    if (list == nullptr || list->empty()) continue;
    last += n * d * width;
    const double share = width / static_cast<double>(list->size());
    for (const uint32_t index : *list) {
      const Projection& p = encoder.projections[index];
      if (compressed.insert(index).second) first += project_cost(p, n, d);
      first += compressed_rows(p, n) * d * share;
      last += project_cost(p, n, share);
    }
  }
  return std::min(first, last);
}

}  // namespace

double encoder_operations(const ModelDescription& model, int64_t n_tokens) {
  const EncoderDescription& encoder = model.encoder;
  const double n = static_cast<double>(n_tokens), d = encoder.d_model;
  double sum = 0;
  for (const LayerDescription& layer : encoder.layers) {
    const AttentionDescription& a = layer.attention;
    const double width = static_cast<double>(a.heads) * a.head_dim;
    sum += 2 * n * d * width + key_value(encoder, a, n);
    double rows = 0;  // of the keys, the mean over the heads
    for (const uint32_t index : a.key_projections) rows += compressed_rows(encoder.projections[index], n);
    if (!a.key_projections.empty()) rows /= static_cast<double>(a.key_projections.size());
    sum += 2 * n * rows * width;
    if (layer.ffn_in.present()) {
      const double ffn_width = static_cast<double>(model.tensors[static_cast<size_t>(layer.ffn_in.weight)].shape[0]);
      sum += 2 * n * d * ffn_width;
    }
  }
  return 2 * sum;
}

}  // namespace linformer::bench
