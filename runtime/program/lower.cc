#include "program/lower.h"

#include <algorithm>

#include "base/checked.h"
#include "base/description.h"
#include "base/storage.h"

namespace LINFORMER_NAMESPACE {

int64_t rows_per_item(int64_t rows, int64_t parts, int64_t block) {
  constexpr int64_t together = 16, least = 8;
  const bool splits = rows > together && ceil_div(rows, least) >= parts;
  const int64_t each = ceil_div(rows, std::max<int64_t>(parts, 1));
  return std::min(std::max(each, splits ? least : together), block);
}

Stage& Lowering::add_stage(Domain domain) {
  if (!program_.stages.try_push({})) {
    out_of_memory_ = true;
    return spare_stage_ = {};
  }
  Stage& stage = program_.stages.back();
  stage.domain = domain;
  stage.op_begin = stage.op_end = static_cast<int32_t>(program_.ops.size());
  return stage;
}

Op& Lowering::push(OpKind kind, const void* op, size_t size) {
  out_of_memory_ = out_of_memory_ || !program_.ops.try_push(spare_op_);
  if (!out_of_memory_) ++program_.stages.back().op_end;
  Op& added = out_of_memory_ ? spare_op_ : program_.ops.back();
  added.assign(kind, op, size);
  return added;
}

View Lowering::buffer_view(Place place, BufferId buffer, int64_t cols, int64_t offset) {
  View view;
  view.place = place;
  view.buffer = buffer;
  view.cols = cols;
  view.offset = offset;
  return view;
}

View Lowering::narrow_view(BufferId buffer, ElementType type, int64_t cols) {
  View view;
  view.place = Place::block;
  view.buffer = buffer;
  view.type = type;
  view.cols = cols;
  return view;
}

View Lowering::converted_for_product(const View& a, ElementType compute) {
  if (compute == a.type) return a;
  const View out = narrow_view(BufferId::low_precision_rows, compute, a.cols);
  if (out_of_memory_) return out;
  const int32_t count = static_cast<int32_t>(program_.ops.size());
  // Converted rows can be used by all products of the stage, until an op writes the rows that they were converted from.
  bool known = converted_by_ >= program_.stages.back().op_begin;
  if (known) {
    const auto& last = program_.ops[static_cast<size_t>(converted_by_)].as<ops::Convert>();
    known = last.out.type == compute && last.from.place == a.place && last.from.buffer == a.buffer &&
            last.from.cols == a.cols && last.from.offset == a.offset && last.from.ld == a.ld;
    for (int32_t i = converted_by_ + 1; known && i < count; ++i) {
      const View& written = program_.ops[static_cast<size_t>(i)].out();
      known = written.place != a.place || written.buffer != a.buffer;
    }
  }
  if (known) return out;
  converted_by_ = count;
  add(ops::Convert{out, a});
  return out;
}

// Returns a view of the first row of each sequence, in the buffer that replaces `buffer` for first rows.
View Lowering::first_rows_view(BufferId buffer, int64_t cols) {
  if (buffer == BufferId::rows) return scored_view(BufferId::first_rows, cols);
  return scored_view(buffer == BufferId::second_rows ? BufferId::first_second_rows : BufferId::first_normalized, cols);
}

View Lowering::slot_view(BufferId buffer, int64_t rows_per_slot, int64_t cols) {
  View view;
  view.place = Place::sequence;
  view.buffer = buffer;
  view.rows = rows_per_slot;
  view.cols = view.ld = cols;
  return view;
}

View Lowering::source(const LayerState& layer, int64_t cols) {
  View view = layer.key_rows.own;
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

View Lowering::output_view(int64_t cols) const {
  View view;
  view.place = Place::output;
  view.cols = view.ld = cols;
  return view;
}

ops::Gemm& Lowering::gemm(const View& a, const Linear& linear, const View& out, Activation activation) {
  ops::Gemm gemm;
  gemm.out = out;
  gemm.b = weight(linear.weight);
  gemm.a = converted_for_product(a, product_type(tensor(linear.weight), program_.target));
  // A row-major weight is a token embedding that serves as output, [outputs, inputs].
  if (gemm.b.layout == RightLayout::row_major) gemm.b.layout = RightLayout::transposed;
  gemm.bias = weight(linear.bias);
  gemm.activation = activation;
  return add(gemm);
}

void Lowering::norm(const Norm& norm, const View& from, const View& out) {
  add(ops::Norm{out, from, weight(norm.scale), weight(norm.bias), norm.epsilon, norm.kind});
}

void Lowering::norm_in_place(const Norm& norm, const View& x) {
  if (norm.present()) this->norm(norm, x, x);
}

// Adds a section that copies the rows of X to the caller. A reversible model's two streams are put side by side.
void Lowering::add_hidden_output(Section* section, int64_t width, int64_t streams) {
  const int32_t begin = stage_count();
  add_stage(Domain::sequences);
  const View out = output_view(streams * width), first = rows(BufferId::rows, width);
  add(ops::Expand{out, first, streams == 2 ? rows(BufferId::second_rows, width) : View()});
  *section = this->section_from(begin);
}

Status Lowering::lower_layers() {
  const size_t count = encoder_.layers.size();
  size_t groups = 0;
  for (const LayerDescription& layer : encoder_.layers) groups += group_count(layer.attention);
  if (!program_.layers.try_resize(count) || !program_.groups.try_resize(groups)) {
    return Status::error(Code::out_of_memory, "no memory for the program of a model with %zu layers", count);
  }
  int64_t width = encoder_.d_model;
  for (size_t i = 0; i < count; ++i) lower_layer(i, &width);
  return {};
}

bool Lowering::has_output_ops() const {
  return reversible() || encoder_.final_norm.present() || encoder_.output.present() || encoder_.zero_masked_rows;
}

// Adds the ops that turn the rows of the last layer into the encoder's output, in place.
void Lowering::add_output_ops() {
  const View x = rows(BufferId::rows, last_.width_out), out = rows(BufferId::rows, program_.output_width);
  if (reversible()) add(ops::Add{x, rows(BufferId::second_rows, last_.width_out)});
  norm_in_place(encoder_.final_norm, x);
  if (encoder_.output.present()) {
    const View made = block(BufferId::query, program_.output_width);
    gemm(x, encoder_.output, made);
    add(ops::Copy{out, made});
  }
  if (encoder_.zero_masked_rows) add(ops::Zero{out, ZeroRows::masked});
}

// Lowers the last layer a second time, from its queries on, for the first row of each sequence alone. Calls use it if
// their outputs read no other row, as a classifier on the first token does. Rows don't depend on one another in this
// part of a layer, so the results have the same bits.
void Lowering::lower_first_rows() {
  const int32_t begin = stage_count();
  Stage& made = add_stage(Domain::first_rows);
  made.key_rows = last_.key_rows;
  made.extent = 1;
  const bool normalizes = pre_norm() && last_.description->attention_norm.present();
  const auto take = [&](BufferId buffer) {
    const View all = buffer_view(Place::rows, buffer, last_.width_in, 0);
    add(ops::Pool{first_rows_view(buffer, last_.width_in), all, View()});
  };
  take(BufferId::rows);
  if (reversible()) take(BufferId::second_rows);
  if (normalizes) take(BufferId::normalized);
  first_only_ = true;
  lower_layer_rows(last_);
  if (has_output_ops()) add_output_ops();
  first_only_ = false;
  program_.first_rows = section_from(begin);
}

Status Lowering::lower_output() {
  const int32_t begin = stage_count();
  program_.output_width = encoder_.output.present() ? outputs(encoder_.output)
                          : has_no_layers()         ? int64_t{encoder_.d_model}
                                                    : last_.width_out;
  if (has_output_ops()) {
    add_stage(Domain::row_blocks);
    add_output_ops();
  }
  program_.finish = section_from(begin);
  if (!has_no_layers()) lower_first_rows();
  add_hidden_output(&program_.output_hidden, program_.output_width, 1);
  const int32_t pooled = stage_count();
  add_stage(Domain::scored).extent = 1;
  pool(Pooling::first_token, output_view(program_.output_width)).is_asked = true;
  program_.pooled = section_from(pooled);
  return {};
}

Status Lowering::complete() {
  if (out_of_memory_) return Status::error(Code::out_of_memory, "no memory for the program's ops");
  set_arena_terms(&program_);
  const Arena& arena = program_.arena;
  for (Op& op : program_.ops) {
    for (int i = 0; i < operand_count(op.kind()); ++i) {
      View& view = operand_of(op, i).view;
      const bool shares_ld = view.place == Place::rows || view.place == Place::block || view.place == Place::scored;
      if (!shares_ld || view.ld != 0) continue;
      const BufferInfo& buffer = info(view.buffer);
      view.ld = arena.value(buffer.ld) * static_cast<int64_t>(buffer.element_bytes) / element_bytes(view.type);
    }
  }
  int32_t joined = 0;
  for (Stage& stage : program_.stages) {
    stage.key_rows.own.ld = arena.value(Term::d_row);
    joined = stage.joins ? joined + 1 : 1;
    if (joined > most_joined) return Status::error(Code::internal, "more than %d stages run at once", most_joined);
  }
  return {};
}

Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

Status lower(const ModelDescription& description, const EncoderDescription& encoder, bool has_heads,
             const Extents& extents, const Target& target, Program* program) {
  LINFORMER_TRY(check_executable(encoder));
  program->extents = extents;
  program->target = target;
  program->pad_id = encoder.pad_id;
  program->states_width = encoder.encoder_states_width;
  program->max_pooled_rows = encoder.max_tokens;
  Lowering lowering(description, encoder, program);
  LINFORMER_TRY(lowering.lower_embedding());
  LINFORMER_TRY(lowering.lower_layers());
  LINFORMER_TRY(lowering.lower_output());
  if (has_heads) LINFORMER_TRY(lowering.lower_heads());
  return lowering.complete();
}

}  // namespace LINFORMER_NAMESPACE
