#include "program/lower.h"

#include <algorithm>

#include "base/checked.h"
#include "base/description.h"
#include "base/storage.h"

namespace LINFORMER_NAMESPACE {

int64_t even_step(int64_t rows, int64_t parts, int64_t block) {
  constexpr int64_t together = 16, least = 8;
  const bool splits = rows > together && ceil_div(rows, least) >= parts;
  const int64_t each = ceil_div(rows, std::max<int64_t>(parts, 1));
  return std::min(std::max(each, splits ? least : together), block);
}

Stage& Lowering::stage(Domain domain) {
  if (!program_.stages.try_push({})) {
    out_of_memory_ = true;
    return spare_stage_ = {};
  }
  Stage& stage = program_.stages.back();
  stage.domain = domain;
  stage.op_begin = stage.op_end = static_cast<int32_t>(program_.ops.size());
  return stage;
}

Op& Lowering::op(OpKind kind) {
  if (out_of_memory_ || !program_.ops.try_push({})) {
    out_of_memory_ = true;
    return spare_op_ = {};
  }
  ++program_.stages.back().op_end;
  Op& op = program_.ops.back();
  op.kind = kind;
  return op;
}

View Lowering::buffer_view(Place place, BufferId buffer, int64_t cols, int64_t offset) {
  View view;
  view.place = place;
  view.buffer = buffer;
  view.cols = cols;
  view.offset = offset;
  program_.arena.use(buffer);
  const Term ld = info(buffer).ld;
  if (ld != Term::none) program_.arena.widen(ld, Count(offset) + cols);
  return view;
}

View Lowering::narrow(BufferId buffer, ElementType type, int64_t cols) {
  View view;
  view.place = Place::block;
  view.buffer = buffer;
  view.type = type;
  view.cols = cols;
  program_.arena.use(buffer);
  program_.arena.widen(info(buffer).ld,
                       ceil_div(narrow_row_bytes(type, cols), static_cast<int64_t>(info(buffer).element_bytes)));
  return view;
}

void Lowering::convert(const View& a, const View& out) { unary(OpKind::convert, a, out); }

View Lowering::multiplied(const View& a, ElementType compute) {
  if (compute == a.type) return a;
  const View out = narrow(BufferId::narrow_rows, compute, a.cols);
  if (out_of_memory_) return out;
  const int32_t ops = static_cast<int32_t>(program_.ops.size());
  // What was converted serves all products of its stage, until its source is written.
  bool known = converted_by_ >= program_.stages.back().op_begin;
  if (known) {
    const Op& last = program_.ops[static_cast<size_t>(converted_by_)];
    known = last.out.type == compute && last.a.place == a.place && last.a.buffer == a.buffer && last.a.cols == a.cols &&
            last.a.offset == a.offset && last.a.ld == a.ld;
    for (int32_t i = converted_by_ + 1; known && i < ops; ++i) {
      const View& written = program_.ops[static_cast<size_t>(i)].out;
      known = written.place != a.place || written.buffer != a.buffer;
    }
  }
  if (known) return out;
  converted_by_ = ops;
  convert(a, out);
  return out;
}

// Of each sequence its first row of a buffer of rows.
View Lowering::first(BufferId buffer, int64_t cols) {
  const int offset = static_cast<int>(BufferId::first_rows) - static_cast<int>(BufferId::rows);
  return scored(static_cast<BufferId>(static_cast<int>(buffer) + offset), cols);
}

View Lowering::slot(BufferId buffer, int64_t slot_rows, int64_t cols) {
  View view;
  view.place = Place::sequence;
  view.buffer = buffer;
  view.rows = slot_rows;
  view.cols = view.ld = cols;
  program_.arena.use(buffer);
  const bool is_key = buffer == BufferId::keys || buffer == BufferId::values;
  program_.arena.widen(is_key ? Term::keys : Term::compressed, Count(slot_rows) * cols);
  return view;
}

View Lowering::source(const LayerState& layer, int64_t cols) {
  View view = layer.attention.own;
  view.place = Place::source;
  view.cols = cols;
  return view;
}

View Lowering::weight(TensorIndex index) const {
  View view;
  if (index == absent) return view;
  const TensorDescription& t = tensor(index);
  view.place = Place::weight;
  view.tensor = index;
  view.type = t.type;
  view.layout = t.layout == TensorLayout::panel16 ? RightLayout::panel16 : RightLayout::row_major;
  view.rows = t.shape.size() > 1 ? static_cast<int64_t>(t.shape[0]) : 1;
  view.cols = view.ld = static_cast<int64_t>(t.shape.back());
  if (t.layout == TensorLayout::padded_rows) view.ld = round_up(view.cols, padded_row_multiple);
  return view;
}

View Lowering::caller(int64_t cols) const {
  View view;
  view.place = Place::output;
  view.cols = view.ld = cols;
  return view;
}

Op& Lowering::gemm(const View& a, const Linear& linear, const View& out, Activation activation) {
  const View b = weight(linear.weight);
  const bool panels = b.layout == RightLayout::panel16;
  const bool whole = panels || program_.target.device;
  const View left = multiplied(a, whole ? program_.target.compute(b.type) : ElementType::f32);
  Op& gemm = op(OpKind::gemm);
  gemm.a = left;
  gemm.b = b;
  // A tied output: the token embedding, [outputs, inputs] row by row.
  if (gemm.b.layout == RightLayout::row_major) gemm.b.layout = RightLayout::transposed;
  gemm.bias = weight(linear.bias);
  gemm.out = out;
  gemm.activation = activation;
  return gemm;
}

Op& Lowering::norm(const Norm& norm, const View& a, const View& out) {
  Op& result = op(OpKind::norm);
  result.a = a;
  result.b = weight(norm.scale);
  result.bias = weight(norm.bias);
  result.epsilon = norm.epsilon;
  result.out = out;
  return result;
}

Op& Lowering::unary(OpKind kind, const View& a, const View& out) {
  Op& result = op(kind);
  result.a = a;
  result.out = out;
  return result;
}

// The rows of X, or of both streams side by side, for the caller.
void Lowering::hidden(Section* section, int64_t width, int64_t streams) {
  const int32_t begin = stage_count();
  stage(Domain::sequences);
  Op& expand = op(OpKind::expand);
  expand.a = rows(BufferId::rows, width);
  if (streams == 2) expand.b = rows(BufferId::second_rows, width);
  expand.out = caller(streams * width);
  *section = this->section(begin);
}

Status Lowering::layers() {
  const size_t count = encoder_.layers.size();
  size_t groups = 0;
  for (const LayerDescription& layer : encoder_.layers) groups += groups_of(layer.attention);
  if (!program_.layers.try_resize(count) || !program_.attentions.try_resize(count) ||
      !program_.groups.try_resize(groups)) {
    return Status::error(Code::out_of_memory, "no memory for a program of %zu layers", count);
  }
  int64_t width = encoder_.d_model;
  for (size_t i = 0; i < count; ++i) layer(i, &width);
  return {};
}

bool Lowering::finishes() const {
  return reversible() || encoder_.final_norm.present() || encoder_.output.present() || encoder_.zero_masked_rows;
}

// From the last layer's rows to the encoder's output, in place.
void Lowering::finish_rows() {
  const View x = rows(BufferId::rows, last_.width_out), out = rows(BufferId::rows, program_.output_width);
  if (reversible()) unary(OpKind::add, rows(BufferId::second_rows, last_.width_out), x);
  if (encoder_.final_norm.present()) norm(encoder_.final_norm, x, x);
  if (encoder_.output.present()) {
    const View made = block(BufferId::query, program_.output_width);
    gemm(x, encoder_.output, made);
    unary(OpKind::copy, made, out);
  }
  if (!encoder_.zero_masked_rows) return;
  Op& zero = op(OpKind::zero);
  zero.which = ZeroRows::masked;
  zero.out = out;
}

// The last layer again, from its keys on, for calls that read no other row of its result: a classifier on the first
// token. Rows don't depend on one another there, so they have the same bits.
void Lowering::first_rows() {
  const int32_t begin = stage_count();
  Stage& made = stage(Domain::first_rows);
  made.attention = last_.index;
  made.extent = 1;
  const bool normalizes = pre_norm() && last_.description->attention_norm.present();
  const auto take = [&](BufferId buffer) {
    const View all = buffer_view(Place::rows, buffer, last_.width_in, 0);
    unary(OpKind::pool, all, first(buffer, last_.width_in)).pooling = Pooling::first_token;
  };
  take(BufferId::rows);
  if (reversible()) take(BufferId::second_rows);
  if (normalizes) take(BufferId::normalized);
  first_only_ = true;
  layer_rows(last_);
  if (finishes()) finish_rows();
  first_only_ = false;
  program_.first_rows = section(begin);
}

Status Lowering::finish() {
  const int32_t begin = stage_count();
  program_.output_width = encoder_.output.present() ? outputs(encoder_.output)
                          : gathers()               ? int64_t{encoder_.d_model}
                                                    : last_.width_out;
  if (finishes()) {
    stage(Domain::row_blocks);
    finish_rows();
  }
  program_.finish = section(begin);
  if (!gathers()) first_rows();
  hidden(&program_.output_hidden, program_.output_width, 1);
  const int32_t pooled = stage_count();
  stage(Domain::scored).extent = 1;
  pool(Pooling::first_token, caller(program_.output_width)).pooling_is_asked = true;
  program_.pooled = section(pooled);
  return {};
}

Status Lowering::complete() {
  if (out_of_memory_) return Status::error(Code::out_of_memory, "no memory for the program's ops");
  Arena& arena = program_.arena;
  program_.key_slot = arena.value(Term::keys);
  program_.compressed_slot = arena.value(Term::compressed);
  for (Op& op : program_.ops) {
    for (View* view : {&op.a, &op.b, &op.out, &op.bias, &op.row_bias, &op.residual}) {
      const bool shares_ld = view->place == Place::rows || view->place == Place::block || view->place == Place::scored;
      if (!shares_ld || view->ld != 0) continue;
      const BufferInfo& buffer = info(view->buffer);
      view->ld = arena.value(buffer.ld) * static_cast<int64_t>(buffer.element_bytes) / element_bytes(view->type);
    }
  }
  for (Attention& attention : program_.attentions) {
    attention.own.ld = arena.value(Term::d_row);
    program_.mixes_attention = program_.mixes_attention || attention.full != program_.attentions[0].full;
  }
  return {};
}

Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

Status lower(const ModelDescription& description, const EncoderDescription& encoder, bool has_heads,
             const Extents& extents, const Target& target, Program* program) {
  LINFORMER_TRY(check_executable(description, encoder));
  program->extents = extents;
  program->target = target;
  program->pad_id = encoder.pad_id;
  program->states_width = encoder.encoder_states_width;
  program->max_pooled_rows = encoder.max_tokens;
  Arena& arena = program->arena;
  arena[Term::sequences] = extents.sequences;
  arena[Term::starts] = Count(extents.sequences) + 1;
  arena[Term::rows] = extents.rows;
  arena[Term::states] = Count(extents.sequences) * extents.encoder_states;
  arena[Term::threads] = extents.threads;
  arena[Term::apart] = extents.threads > 1 ? thread_part_gap : 0;
  arena[Term::block] = extents.block_rows;
  arena[Term::scored] = extents.sequences;
  for (BufferId buffer : {BufferId::row_starts, BufferId::ids, BufferId::positions, BufferId::masks}) arena.use(buffer);
  if (encoder.encoder_states_width > 0) {
    arena[Term::d_states] = int64_t{encoder.encoder_states_width};
    for (BufferId buffer : {BufferId::state_starts, BufferId::state_masks, BufferId::encoder_states}) arena.use(buffer);
  }
  Lowering lowering(description, encoder, program);
  LINFORMER_TRY(lowering.embedding());
  LINFORMER_TRY(lowering.layers());
  LINFORMER_TRY(lowering.finish());
  if (has_heads) LINFORMER_TRY(lowering.heads());
  return lowering.complete();
}

}  // namespace LINFORMER_NAMESPACE
