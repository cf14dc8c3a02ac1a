#include "program/listing.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "base/description.h"
#include "program/cost.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Text in a fixed room; what doesn't fit is cut.
class Text {
 public:
  Text(char* room, size_t size) : room_(room), size_(size) { room_[0] = '\0'; }
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    if (used_ + 1 >= size_) return;
    va_list arguments;
    va_start(arguments, format);
    const int written = std::vsnprintf(room_ + used_, size_ - used_, format, arguments);
    va_end(arguments);
    if (written > 0) used_ = std::min(used_ + static_cast<size_t>(written), size_ - 1);
  }

 private:
  char* room_;
  size_t size_, used_ = 0;
};

class Describer {
 public:
  Describer(const Program& program, const ModelDescription& description, const Stage& stage, int64_t rows,
            int64_t states, Text* text)
      : program_(program), description_(description), stage_(stage), rows_(rows), text_(*text) {
    if (stage.attention >= 0) source_ = source_rows(attention(), rows, states);
  }

  void op(const Op& op) {
    switch (op.kind) {
      case OpKind::gemm:
        return gemm(op);
      case OpKind::attend:
        return attend(op);
      case OpKind::compress:
        return compress(op);
      case OpKind::pack:
        text_.add("compressed keys, values = panels of %d x K^T, V", attention().groups);
        return;
      case OpKind::pack_rows:
        text_.add("keys, values = panels of %d x compressed keys^T, compressed values[%lld, %lld]", attention().groups,
                  static_cast<long long>(source_), static_cast<long long>(attention().d_head));
        return;
      case OpKind::norm:
        view(op.out);
        text_.add(" = norm of ");
        view(op.a);
        text_.add(" by %s", tensor_name(op.b));
        return;
      case OpKind::gather:
        view(op.out);
        text_.add(" = ");
        view(op.a);
        if (op.scale != 1.f) text_.add(" x %g", static_cast<double>(op.scale));
        return;
      case OpKind::zero:
        view(op.out);
        text_.add(" = 0%s", op.which == ZeroRows::all    ? ""
                            : op.which == ZeroRows::pads ? " for pads"
                                                         : " where masked");
        return;
      case OpKind::activate:
        view(op.out);
        text_.add(" = %s", name_of(op.activation));
        return;
      case OpKind::gate:
        view(op.out);
        text_.add(" = %s(first half) x second half of ", name_of(op.activation));
        view(op.a);
        return;
      case OpKind::rotate:
        view(op.out);
        text_.add(" turned by position");
        return;
      case OpKind::add_row_sums:
        view(op.out);
        text_.add(" += row sums of %s x bias", tensor_name(op.a));
        return;
      case OpKind::scale_by_length:
        view(op.out);
        if (op.length_scale == LengthScale::inverse_root) {
          text_.add(" divided by the root of n");
        } else {
          text_.add(" x norms of rows of %s, whole by first n", tensor_name(op.a));
        }
        return;
      case OpKind::normalize_length:
        view(op.out);
        text_.add(" divided by their length");
        return;
      case OpKind::probabilities:
        text_.add("%s", op.softmax                          ? "softmax"
                        : op.activation == Activation::none ? "as they are"
                                                            : name_of(op.activation));
        return;
      default:
        break;
    }
    const bool adds = op.kind == OpKind::add || op.kind == OpKind::add_position || op.kind == OpKind::add_type;
    view(op.out);
    if (!op.a.present()) return;
    text_.add(adds ? " += " : " = ");
    view(op.a);
  }

 private:
  const Attention& attention() const { return program_.attentions[static_cast<size_t>(stage_.attention)]; }
  const char* tensor_name(const View& view) const {
    return description_.tensors[static_cast<size_t>(view.tensor)].name.c_str();
  }

  static const char* type_of(const View& view) {
    const char* types[] = {"", " bf16", " f16", " int8"};
    return types[static_cast<int>(view.type)];
  }

  void view(const View& v) {
    const char* type = type_of(v);
    long long rows = static_cast<long long>(v.rows);
    // A slot may have room for more rows than this sequence has.
    if (rows == 0 || (v.place == Place::sequence && stage_.domain == Domain::source_rows)) {
      switch (stage_.domain) {
        case Domain::source_rows:
        case Domain::source_columns:
          rows = source_;
          break;
        case Domain::compressed_rows:
          rows = stage_.extent;
          break;
        case Domain::first_rows:
        case Domain::scored:
          rows = stage_.extent == 0 ? rows_ : 1;
          break;
        case Domain::positions:
          rows = 1;
          break;
        default:
          rows = rows_;
      }
    }
    const long long cols = static_cast<long long>(v.cols);
    if (v.place == Place::weight) {
      text_.add("%s[%lld, %lld]%s%s", tensor_name(v), rows, cols, type,
                v.layout == RightLayout::panel16 ? " panel16" : "");
    } else if (v.place == Place::output) {
      text_.add("the caller's[%lld, %lld]", rows, cols);
    } else if (v.place == Place::source) {
      text_.add("%s[%lld, %lld]", source_name(), static_cast<long long>(source_), cols);
    } else if (v.present()) {
      text_.add("%s[%lld, %lld]%s", info(v.buffer).name, rows, cols, type);
    }
  }

  const char* source_name() const {
    const Attention& a = attention();
    if (a.key_source == KeySource::encoder_states_or_own) return "rows or encoder states";
    return a.key_source == KeySource::encoder_states ? "encoder states" : info(a.own.buffer).name;
  }

  void gemm(const Op& op) {
    view(op.out);
    const bool activated = op.activation != Activation::none;
    text_.add(" %s= %s%s", op.accumulate ? "+" : "", activated ? name_of(op.activation) : "", activated ? "(" : "");
    if (op.b.place == Place::source || op.b.place == Place::sequence) {
      text_.add("%s[%lld, %lld]%s x ", tensor_name(op.a), static_cast<long long>(op.a.rows),
                static_cast<long long>(source_), type_of(op.a));
    } else {
      view(op.a);
      text_.add(" x ");
    }
    View b = op.b;
    if (b.place == Place::sequence) b.rows = source_;
    view(b);
    if (b.place == Place::weight && (op.a.cols < b.cols || op.out.cols < b.rows)) {
      text_.add("[%lld.., %lld..]", static_cast<long long>(op.first_n), static_cast<long long>(op.first_k));
    }
    if (op.row_bias.present()) text_.add(" + row bias");
    if (op.bias.present()) text_.add(" + bias");
    if (activated) text_.add(")");
    if (op.residual.present()) {
      text_.add(" + ");
      view(op.residual);
    }
  }

  void attend(const Op& op) {
    const Attention& a = attention();
    int64_t keys = source_;
    for (int32_t g = 0; g < a.groups && !a.full; ++g) {
      const int64_t k = program_.group(a, g).projections[0].rows_of(source_);
      keys = g == 0 ? k : std::max(keys, k);
    }
    view(op.out);
    text_.add(" = %lld heads of %lld over %lld %s%s%s%s", static_cast<long long>(a.heads),
              static_cast<long long>(a.d_head), static_cast<long long>(keys),
              a.full                    ? "keys"
              : source_ < a.short_below ? "compressed scores"
                                        : "compressed keys",
              a.causal ? ", causal" : "", a.excludes_masked ? ", masked keys excluded" : "",
              a.position_bias.present() ? ", position bias" : "");
    if (a.window > 0) text_.add(", window %lld", static_cast<long long>(a.window));
  }

  void compress(const Op& op) {
    const Attention& a = attention();
    const HeadProjection& first = program_.group(a, 0).projections[op.side];
    const char* kinds[] = {"linear", "convolution", "mean pooling", "max pooling", "none"};
    text_.add("%s = %s of ", info(op.out.buffer).name, kinds[static_cast<int>(first.kind)]);
    View from = op.a;
    from.rows = source_;
    view(from);
    text_.add(" to k");
    const int32_t shown = std::min(a.groups, 4);
    for (int32_t g = 0; g < shown; ++g) {
      text_.add(" %lld", static_cast<long long>(program_.group(a, g).projections[op.side].rows_of(source_)));
    }
    if (shown < a.groups) text_.add(" ... (%d heads)", a.groups);
  }

  const Program& program_;
  const ModelDescription& description_;
  const Stage& stage_;
  int64_t rows_, source_ = 0;
  Text& text_;
};

}  // namespace

const char* name_of(OpKind kind) {
  constexpr const char* names[] = {"gather", "add_position",  "add_type", "read_vectors", "put_prefix", "zero",
                                   "copy",   "convert",       "add",      "norm",         "gemm",       "row_sums",
                                   "scale",  "activate",      "gate",     "rotate",       "compress",   "pack",
                                   "pack",   "pack",          "attend",   "select",       "pool",       "pair",
                                   "expand", "probabilities", "normalize"};
  return names[static_cast<int>(kind)];
}

const char* name_of(Domain domain) {
  constexpr const char* names[] = {"row blocks", "source rows", "source columns", "compressed rows", "key heads",
                                   "first rows", "scored rows", "sequences",      "positions"};
  return names[static_cast<int>(domain)];
}

OpText describe(const Program& program, const ModelDescription& description, const Stage& stage, const Op& op,
                int64_t rows, int64_t states) {
  OpText result;
  Text condition(result.condition, sizeof result.condition);
  const Lengths& lengths = stage.lengths;
  if (lengths.all()) {
    condition.add("always");
  } else if (lengths.below == INT64_MAX) {
    condition.add("n >= %lld", static_cast<long long>(lengths.from));
  } else if (lengths.from == 0) {
    condition.add("n < %lld", static_cast<long long>(lengths.below));
  } else {
    condition.add("%lld <= n < %lld", static_cast<long long>(lengths.from), static_cast<long long>(lengths.below));
  }
  Text text(result.operands, sizeof result.operands);
  Describer(program, description, stage, rows, states, &text).op(op);
  return result;
}

PartText part_of(const Program& program, int32_t stage) {
  PartText result;
  Text text(result.text, sizeof result.text);
  const auto within = [&](const Section& section) { return stage >= section.begin && stage < section.end; };
  for (size_t i = 0; i < program.layers.size(); ++i) {
    if (within(program.layers[i].stages)) text.add("layer %zu", i);
    if (within(program.layers[i].hidden)) text.add("layer %zu's rows", i);
  }
  for (size_t i = 0; i < program.heads.size(); ++i) {
    if (within(program.heads[i].stages)) text.add("head %zu", i);
  }
  if (within(program.embedding)) text.add("embedding");
  if (within(program.embedding_hidden)) text.add("embedding's rows");
  if (within(program.finish)) text.add("finish");
  if (within(program.first_rows)) text.add("first rows");
  if (within(program.output_hidden)) text.add("output's rows");
  if (within(program.pooled)) text.add("pooled");
  if (within(program.sentence_embedding)) text.add("sentence embedding");
  if (within(program.masked_lm)) text.add("masked-LM");
  return result;
}

}  // namespace LINFORMER_NAMESPACE
