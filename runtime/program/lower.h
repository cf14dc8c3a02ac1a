// From a description to a program, part by part: one function for each part of a model.
#pragma once

#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"
#include "program/layer_plan.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

// First refusal: what the description says and no executor can do, by name.
Status check_executable(const EncoderDescription& encoder);

// `encoder` is one of the description's. `has_heads`: heads and masked-LM read this encoder's rows.
// A pure function of its arguments, which writes the program where it stays: moving one is a kilobyte of code. After an
// error *program is incomplete. *program must be as it was constructed.
Status lower(const ModelDescription& description, const EncoderDescription& encoder, bool has_heads,
             const Extents& extents, const Target& target, Program* program);

// Sets the terms of a lowered program's arena, its buffers, and the sizes of its slots, from its extents and the
// operands of its ops. The terms `rotary` and `projection` grow when their tables are made.
void count_arena_terms(Program* program);

// Appends stages and ops to a program.
class Lowering {
 public:
  Lowering(const ModelDescription& description, const EncoderDescription& encoder, Program* program)
      : description_(description), encoder_(encoder), program_(*program) {}

  Status embedding();
  Status layers();
  Status finish();
  Status heads();
  // Leading dimensions, when every width is known.
  Status complete();

 private:
  struct LayerState {
    const LayerDescription* description;
    const LayerDescription* next;
    LayerPlan plan;
    ops::Attend attend;  // what the layer's queries do; its blocks of queries are those of each stage
    KeyRows key_rows;
    bool value_is_key = false;
    bool zeroes_masked = false;
    int64_t key_width = 0;  // of Z W
    int64_t key_ld = 0;     // of K and V in a slot
    int64_t width_in, width_between, width_out;
  };

  // Stages and ops. Memory that runs out is remembered and said by complete().
  Stage& stage(Domain domain);
  // Appends an op to the last stage. The reference is valid until the next one.
  template <class Struct>
  Struct& add(const Struct& op) {
    return push(KindOf<Struct>::value, &op, sizeof op).template as<Struct>();
  }
  // Not inlined: each kind of op would copy a whole Op in each place.
  Op& push(OpKind kind, const void* op, size_t size);
  Section section(int32_t begin) const { return {begin, stage_count()}; }
  int32_t stage_count() const { return static_cast<int32_t>(program_.stages.size()); }

  const TensorDescription& tensor(TensorIndex index) const { return description_.tensors[static_cast<size_t>(index)]; }
  int64_t inputs(const Linear& linear) const { return static_cast<int64_t>(tensor(linear.weight).shape[1]); }
  int64_t outputs(const Linear& linear) const { return static_cast<int64_t>(tensor(linear.weight).shape[0]); }

  // Views. A view of a `rows`, `block` or `scored` buffer widens it.
  // While the last layer is lowered for first rows, they stand in the place of all.
  View rows(BufferId buffer, int64_t cols) {
    if (gathers()) return weight(encoder_.embedding.tokens);
    return first_only_ ? first(buffer, cols) : buffer_view(Place::rows, buffer, cols, 0);
  }
  View first(BufferId buffer, int64_t cols);
  View block(BufferId buffer, int64_t cols, int64_t offset = 0) {
    return buffer_view(Place::block, buffer, cols, offset);
  }
  View scored(BufferId buffer, int64_t cols) { return buffer_view(Place::scored, buffer, cols, 0); }
  static View slot(BufferId buffer, int64_t slot_rows, int64_t cols);
  View buffer_view(Place place, BufferId buffer, int64_t cols, int64_t offset);
  View source(const LayerState& layer, int64_t cols);
  View weight(TensorIndex index) const;  // row-major, or the right side of a product
  View caller(int64_t cols) const;

  // `a` as a product in `compute` reads it: converted, where it isn't yet.
  View multiplied(const View& a, ElementType compute);
  View narrow(BufferId buffer, ElementType type, int64_t cols);

  // The common ops.
  ops::Gemm& gemm(const View& a, const Linear& linear, const View& out, Activation activation = Activation::none);
  void norm(const Norm& norm, const View& from, const View& out);
  void norm_in_place(const Norm& norm, const View& x);  // does nothing if the norm is absent
  ops::Pool& pool(Pooling pooling, const View& out);
  void hidden(Section* section, int64_t width, int64_t streams);

  // lower_embedding.cc
  void read_vectors(const VectorInput& vectors, const View& out);
  void add_positions(const View& out);
  // lower_attention.cc
  void keys_and_values(LayerState* layer);
  void describe_attention(LayerState* layer);
  size_t groups_of(const AttentionDescription& attention) const;
  void add_groups(LayerState* layer);
  void add_scores(LayerState* layer);
  const Projection& projection_of(const AttentionDescription& attention, int side, size_t group) const;
  View panels(BufferId buffer, const ops::Attend& attend) const;
  View key_slot(const LayerState& layer, int side) const;
  Stage& key_stage(const LayerState& layer, Domain domain, const Lengths& lengths, int64_t extent, bool joins);
  void project_rows(const LayerState& layer, int side, const View& out);
  void rotate(const LayerState& layer, const View& x);
  // lower_compressed_keys.cc
  void compressed_keys(LayerState* layer);
  void add_short(LayerState* layer);
  View projection_table(const View& e, bool transposed, int64_t n, ElementType compute);
  View projected_slot(const LayerState& layer, int side);
  void compress_side(const LayerState& layer, int side);
  void shared_side(const LayerState& layer, int side);
  void scale_by_length(const Projection& projection, const View& key);
  void compress_by_head(const LayerState& layer, int side, bool joins);
  void pack_sides(const LayerState& layer);
  // lower_whole_keys.cc
  friend class WholeKeys;
  void whole_keys(LayerState* layer);
  // lower_layer.cc
  void layer(size_t index, int64_t* width);
  void layer_rows(const LayerState& layer);
  void first_rows();
  void finish_rows();
  bool finishes() const;
  View attend(const LayerState& layer, const View& query);
  void attention_output(const LayerState& layer, const View& context, const View& target);
  void feed_forward(const LayerState& layer, const View& input, const View& target);
  void inner_slice(const Linear& linear, const View& left, int64_t begin, Activation activation, const View& out);
  void sliced_feed_forward(const LayerState& layer, const View& in, const View& out, const View& residual);
  // lower_heads.cc
  void classification_head(const ClassificationHead& head, HeadSections* sections);
  void sentence_embedding(const SentenceEmbedding& embedding);
  void masked_lm(const MaskedLmHead& mlm);

  // Whether the encoder has no layers: its rows are read from the token embedding where it lies, and never made.
  bool gathers() const { return encoder_.layers.empty(); }
  bool reversible() const { return encoder_.residual == ResidualKind::reversible; }
  bool pre_norm() const { return encoder_.norm_placement == NormPlacement::pre; }
  bool adds() const { return encoder_.residual != ResidualKind::none; }
  // The rows that a layer reads: a reversible layer reads its second stream where others read their only one.
  BufferId stream() const { return reversible() ? BufferId::second_rows : BufferId::rows; }

  const ModelDescription& description_;
  const EncoderDescription& encoder_;
  Program& program_;
  LayerState last_{};  // the layer that was lowered last
  bool first_only_ = false;
  int32_t next_group_ = 0;
  bool out_of_memory_ = false;
  int32_t converted_by_ = -1;  // the op that filled narrow_rows last
  Stage spare_stage_;
  Op spare_op_;
};

}  // namespace LINFORMER_NAMESPACE
