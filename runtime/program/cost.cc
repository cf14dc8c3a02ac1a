#include "program/cost.h"

#include <algorithm>

namespace LINFORMER_NAMESPACE {
namespace {

template <class A, class B>
double product(A a, B b) {
  return static_cast<double>(a) * static_cast<double>(b);
}
template <class A, class B, class C>
double product(A a, B b, C c) {
  return product(product(a, b), c);
}

// Rows of `out` that a stage makes for one sequence.
double rows_of(const Stage& stage, int64_t rows, int64_t source, int64_t positions) {
  switch (stage.domain) {
    case Domain::row_blocks:
    case Domain::sequences:
      break;
    case Domain::source_rows:
      return static_cast<double>(source);
    case Domain::source_columns:
    case Domain::compressed_rows:
    case Domain::key_heads:
      return static_cast<double>(stage.extent);
    case Domain::first_rows:
    case Domain::scored:  // a pair's row is half a sequence's each
      if (stage.extent != 0) return 1 / static_cast<double>(stage.extent);
      break;
    case Domain::positions:
      return static_cast<double>(positions);
  }
  return static_cast<double>(rows);
}

class OpCost {
 public:
  OpCost(const Program& program, const Stage& stage, int64_t rows, int64_t source, int64_t positions)
      : program_(program), stage_(stage), rows_(rows), source_(source), m_(rows_of(stage, rows, source, positions)) {}

  Cost of(const Op& op) {
    if (op.kind == OpKind::attend) return attend();
    if (op.kind == OpKind::compress) return compress(op);
    if (op.kind == OpKind::pack || op.kind == OpKind::pack_rows) return pack();
    if (op.kind == OpKind::gemm) return gemm(op);
    if (op.kind == OpKind::gather || op.kind == OpKind::add_position || op.kind == OpKind::add_type) {
      // As many rows of the table as are looked up.
      cost_.bytes += product(m_, op.a.cols, element_bytes(op.a.type));
    } else if (op.a.place == Place::weight && (op.kind == OpKind::pool || op.kind == OpKind::expand)) {
      // The tokens' rows of a table.
      cost_.bytes += product(rows_, op.a.cols, element_bytes(op.a.type));
    } else {
      const bool pools = op.kind == OpKind::pool && op.pooling != Pooling::first_token;
      add(op.a, pools ? static_cast<double>(rows_) : m_);
      if (op.kind != OpKind::pool) add(op.b, m_);
    }
    add(op.bias, 1);
    add(op.out, m_);
    return cost_;
  }

 private:
  const Attention& attention() const { return program_.attentions[static_cast<size_t>(stage_.attention)]; }

  void add(const View& view, double rows) {
    const double all = view.place == Place::weight ? static_cast<double>(view.rows) : rows;
    const double bytes = product(all, view.cols, element_bytes(view.type));
    (view.place == Place::weight ? cost_.weight_bytes : cost_.bytes) += bytes;
  }

  Cost gemm(const Op& op) {
    double m = m_;
    int64_t k = op.a.cols;
    if (stage_.domain == Domain::source_columns) m = static_cast<double>(op.a.rows);
    if (op.b.place == Place::source || op.b.place == Place::sequence) {
      k = source_;
      // Of E, the columns that the sequence has rows for.
      cost_.weight_bytes += product(m, k, element_bytes(op.a.type));
      cost_.bytes += product(k, op.out.cols, sizeof(float));
    } else {
      add(op.a, m);
      cost_.weight_bytes += product(k, op.out.cols, element_bytes(op.b.type));
    }
    add(op.bias, 1);
    add(op.residual, m);
    if (op.accumulate) add(op.out, m);
    add(op.out, m);
    cost_.flop = 2 * product(m, op.out.cols, k);
    return cost_;
  }

  Cost attend() {
    const Attention& a = attention();
    for (int64_t head = 0; head < a.heads; ++head) {
      int64_t keys = a.full ? source_ : program_.group(a, head).projections[0].rows_of(source_);
      // Full attention leaves out keys that none of the queries taken at once sees: on average over the rows.
      if (a.full && a.causal) keys = std::min(keys, (source_ + program_.extents.full_queries()) / 2);
      if (a.window > 0) keys = std::min(keys, 2 * a.window + program_.extents.full_queries());
      if (source_ < a.short_below) {
        cost_.flop += 4 * product(m_, source_, a.d_head + keys);
        cost_.bytes += 2 * product(source_, a.d_head + keys, sizeof(float));
        continue;
      }
      cost_.flop += 4 * product(m_, keys, a.d_head);
      cost_.bytes += 2 * product(keys, a.d_head, sizeof(float));
    }
    cost_.bytes += 2 * product(m_, a.heads * a.d_head, sizeof(float));
    return cost_;
  }

  Cost compress(const Op& op) {
    const Attention& a = attention();
    for (int32_t g = 0; g < a.groups; ++g) {
      const HeadProjection& p = program_.group(a, g).projections[op.side];
      const int64_t k = p.rows_of(source_);
      if (p.kind == ProjectionKind::linear) {
        cost_.flop += 2 * product(k, source_, a.d_head);
        cost_.weight_bytes += product(k, source_, sizeof(float));
      }
      if (p.kind == ProjectionKind::convolution) {
        const double taps = product(std::min(p.kernel, source_), a.d_head, a.d_head);
        cost_.flop += 2 * static_cast<double>(k) * taps;
        cost_.weight_bytes += taps * sizeof(float);
      }
      cost_.bytes += product(source_ + k, a.d_head, sizeof(float));
    }
    return cost_;
  }

  Cost pack() {
    const Attention& a = attention();
    for (int32_t g = 0; g < a.groups; ++g) {
      const int64_t k = source_ < a.short_below ? source_ : program_.group(a, g).projections[0].rows_of(source_);
      cost_.bytes += 4 * product(k, a.d_head, sizeof(float));
    }
    return cost_;
  }

  const Program& program_;
  const Stage& stage_;
  int64_t rows_, source_;
  double m_;
  Cost cost_;
};

}  // namespace

int64_t source_rows(const Attention& attention, int64_t rows, int64_t states) {
  const bool reads_states = attention.key_source == KeySource::encoder_states ||
                            (attention.key_source == KeySource::encoder_states_or_own && states > 0);
  return reads_states ? states : rows;
}

bool applies(const Program& program, const Stage& stage, int64_t rows, int64_t states) {
  if (stage.lengths.all()) return true;
  return stage.lengths.has(source_rows(program.attentions[static_cast<size_t>(stage.attention)], rows, states));
}

Cost cost_of(const Program& program, const Stage& stage, const Op& op, int64_t rows, int64_t states,
             int64_t positions) {
  if (!applies(program, stage, rows, states)) return {};
  int64_t source = rows;
  if (stage.attention >= 0) {
    source = source_rows(program.attentions[static_cast<size_t>(stage.attention)], rows, states);
  }
  return OpCost(program, stage, rows, source, positions).of(op);
}

}  // namespace LINFORMER_NAMESPACE
