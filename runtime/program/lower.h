// Lowers the description of a model to a program, with one function for each part of a model.
//
// In the comments of lower*.cc, X are the rows of a model, Z the rows that a layer's keys and values are computed from
// (README.md), W the weight of keys or values, E the projection that compresses them, K the keys and V the values.
#pragma once

#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"
#include "program/layer_plan.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

// Returns an error if a layer needs something that no executor can do. The error names the layer.
Status check_executable(const EncoderDescription& encoder);

// Lowers an encoder of the description. It is a pure function of its arguments. If `has_heads`, heads and masked-LM
// read the rows of this encoder. *program must be newly constructed, and it is incomplete after an error. The program
// is not returned by value, because moving one takes a kilobyte of code.
Status lower(const ModelDescription& description, const EncoderDescription& encoder, bool has_heads,
             const Extents& extents, const Target& target, Program* program);

// Sets the terms of a lowered program's arena, its buffers, and the sizes of its slots, from its extents and the
// operands of its ops. The terms `rotary` and `projection` grow when their tables are made.
void set_arena_terms(Program* program);

// Appends stages and ops to a program.
class Lowering {
 public:
  Lowering(const ModelDescription& description, const EncoderDescription& encoder, Program* program)
      : description_(description), encoder_(encoder), program_(*program) {}

  Status lower_embedding();
  Status lower_layers();
  Status lower_output();
  Status lower_heads();
  // Sets the leading dimensions, which depend on the widths of all views, and the arena's terms. Returns out_of_memory
  // if an earlier function found no memory.
  Status complete();

 private:
  // The layer that is being lowered.
  struct LayerState {
    const LayerDescription* description;
    const LayerDescription* next;  // The layer after it, or null.
    LayerPlan plan;
    ops::Attend attend;  // The attention of the layer, without its operands `out` and `query`, which each stage sets.
    KeyRows key_rows;
    bool value_is_key = false;
    bool zeroes_masked = false;
    int64_t key_width = 0;  // The width of Z W.
    int64_t key_ld = 0;     // The leading dimension of K and V in a slot.
    int64_t width_in, width_between, width_out;
  };

  // Appends a stage. If there is no memory for it, returns a spare stage, and complete() returns the error.
  Stage& add_stage(Domain domain);
  // Appends an op to the last stage. The reference is valid until the next op is added.
  template <class Struct>
  Struct& add(const Struct& op) {
    return push(KindOf<Struct>::value, &op, sizeof op).template as<Struct>();
  }
  // Appends an op to the last stage. It is not a template, because code that copies a whole Op would then exist once
  // for each kind of op.
  Op& push(OpKind kind, const void* op, size_t size);
  Section section_from(int32_t begin) const { return {begin, stage_count()}; }
  int32_t stage_count() const { return static_cast<int32_t>(program_.stages.size()); }

  const TensorDescription& tensor(TensorIndex index) const { return description_.tensors[static_cast<size_t>(index)]; }
  int64_t inputs(const Linear& linear) const { return static_cast<int64_t>(tensor(linear.weight).shape[1]); }
  int64_t outputs(const Linear& linear) const { return static_cast<int64_t>(tensor(linear.weight).shape[0]); }

  // Returns a view of a buffer of rows. While the last layer is lowered for the first rows alone, it is a view of the
  // buffer of first rows. If the encoder has no layers, it is the token embedding.
  View rows(BufferId buffer, int64_t cols) {
    if (has_no_layers()) return weight(encoder_.embedding.tokens);
    return first_only_ ? first_rows_view(buffer, cols) : buffer_view(Place::rows, buffer, cols, 0);
  }
  View first_rows_view(BufferId buffer, int64_t cols);
  View block(BufferId buffer, int64_t cols, int64_t offset = 0) {
    return buffer_view(Place::block, buffer, cols, offset);
  }
  View scored_view(BufferId buffer, int64_t cols) { return buffer_view(Place::scored, buffer, cols, 0); }
  static View slot_view(BufferId buffer, int64_t rows_per_slot, int64_t cols);
  View buffer_view(Place place, BufferId buffer, int64_t cols, int64_t offset);
  View source(const LayerState& layer, int64_t cols);
  // Returns the view of a tensor, row-major or as the right operand of a product. If the index is `absent`, the view is
  // not present.
  View weight(TensorIndex index) const;
  View output_view(int64_t cols) const;  // Returns a view of the caller's memory.

  // Returns a view of `a` in the type `compute`. Adds the op that converts it, unless an op of the stage already has.
  View converted_for_product(const View& a, ElementType compute);
  View narrow_view(BufferId buffer, ElementType type, int64_t cols);

  // Functions that add the ops that many parts of a model have.
  ops::Gemm& gemm(const View& a, const Linear& linear, const View& out, Activation activation = Activation::none);
  void norm(const Norm& norm, const View& from, const View& out);
  void norm_in_place(const Norm& norm, const View& x);  // Does nothing if the norm is absent.
  ops::Pool& pool(Pooling pooling, const View& out);
  void add_hidden_output(Section* section, int64_t width, int64_t streams);

  // lower_embedding.cc
  void read_vectors(const VectorInput& vectors, const View& out);
  void add_positions(const View& out);
  // lower_attention.cc
  void lower_keys_and_values(LayerState* layer);
  void describe_attention(LayerState* layer);
  size_t group_count(const AttentionDescription& attention) const;
  void add_groups(LayerState* layer);
  void add_score_buffers(LayerState* layer);
  const Projection& projection_of(const AttentionDescription& attention, int side, size_t group) const;
  View panels(BufferId buffer, const ops::Attend& attend) const;
  View key_slot(const LayerState& layer, int side) const;
  Stage& add_key_stage(const LayerState& layer, Domain domain, const Lengths& lengths, int64_t extent, bool joins);
  void project_rows(const LayerState& layer, int side, const View& out);
  void rotate(const LayerState& layer, const View& x);
  // lower_compressed_keys.cc
  void lower_compressed_keys_and_values(LayerState* layer);
  void add_short_sequence_operands(LayerState* layer);
  View projection_table(const View& e, bool transposed, int64_t n, ElementType compute);
  View projected_slot(const LayerState& layer, int side);
  void add_ez_or_zw(const LayerState& layer, int side);
  void add_keys_or_values_of_all_heads(const LayerState& layer, int side);
  void scale_by_length(const Projection& projection, const View& key);
  void compress_by_head(const LayerState& layer, int side, bool joins);
  void pack_sides(const LayerState& layer);
  // lower_whole_keys.cc
  friend class WholeKeys;
  void lower_whole_keys_and_values(LayerState* layer);
  // lower_layer.cc
  void lower_layer(size_t index, int64_t* width);
  void lower_layer_rows(const LayerState& layer);
  void lower_first_rows();
  void add_output_ops();
  bool has_output_ops() const;
  View attend(const LayerState& layer, const View& query);
  void attention_output(const LayerState& layer, const View& context, const View& target);
  void feed_forward(const LayerState& layer, const View& input, const View& target);
  void add_inner_slice(const Linear& linear, const View& left, int64_t begin, Activation activation, const View& out);
  // Adds the feed-forward network in slices of its inner width.
  void sliced_feed_forward(const LayerState& layer, const View& in, const View& out, const View& residual);
  // lower_heads.cc
  void classification_head(const ClassificationHead& head, HeadSections* sections);
  void sentence_embedding(const SentenceEmbedding& embedding);
  void masked_lm(const MaskedLmHead& mlm);

  // Returns whether the encoder has no layers. Its rows are then never stored: pooling and outputs read them in the
  // token embedding.
  bool has_no_layers() const { return encoder_.layers.empty(); }
  bool reversible() const { return encoder_.residual == ResidualKind::reversible; }
  bool pre_norm() const { return encoder_.norm_placement == NormPlacement::pre; }
  bool has_residual() const { return encoder_.residual != ResidualKind::none; }
  // Returns the buffer of the rows that a layer's attention reads. In a reversible model it is the second stream.
  BufferId layer_input_buffer() const { return reversible() ? BufferId::second_rows : BufferId::rows; }

  const ModelDescription& description_;
  const EncoderDescription& encoder_;
  Program& program_;
  LayerState last_{};  // The layer that was lowered last.
  bool first_only_ = false;
  int32_t next_group_ = 0;
  bool out_of_memory_ = false;
  int32_t converted_by_ = -1;  // The index of the last op that filled the buffer low_precision_rows.
  Stage spare_stage_;
  Op spare_op_;
};

}  // namespace LINFORMER_NAMESPACE
