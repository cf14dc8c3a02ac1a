// From a description to products: which association each layer takes, what shapes that needs, how wide rows get.
#include <algorithm>

#include "base/checked.h"
#include "base/memory.h"
#include "plan/declare.h"

namespace linformer {
namespace {

class Builder {
 public:
  Builder(const Model& model, Program* program)
      : description_(model.description()),
        encoder_(*program->encoder),
        program_(*program),
        declarations_(model.description(), program) {}

  Status build() {
    program_.packs = program_.gemm->packs_activations();
    LINFORMER_TRY(embedding());
    if (!resize(&program_.layers, encoder_.layers.size()) || !resize(&program_.heads, description_.heads.size())) {
      return Status::error(Code::out_of_memory, "no memory for a program of %zu layers", encoder_.layers.size());
    }
    for (size_t i = 0; i < encoder_.layers.size(); ++i) {
      LINFORMER_TRY(layer(encoder_.layers[i], &program_.layers[i]));
    }
    program_.output_width = encoder_.output.present() ? declarations_.outputs(encoder_.output) : encoder_.d_model;
    widen(program_.output_width);
    if (encoder_.output.present()) {
      LINFORMER_TRY(declarations_.linear(encoder_.output, Activation::none, false, &program_.output));
    }
    if (!program_.has_heads) return {};
    LINFORMER_TRY(sentence_embedding());
    LINFORMER_TRY(classification_heads());
    return masked_lm();
  }

 private:
  void widen(int64_t width) { program_.d = std::max(program_.d, width); }
  void widen_ffn(int64_t width) { program_.ffn_stride = std::max(program_.ffn_stride, width); }
  void widen_query(int64_t width) { program_.query_stride = std::max(program_.query_stride, width); }

  Status embedding() {
    const EmbeddingDescription& embedding = encoder_.embedding;
    const VectorInput& vectors = embedding.vectors;
    widen(encoder_.d_model);
    int64_t width = vectors.width;
    if (embedding.tokens != absent) width = static_cast<int64_t>(declarations_.tensor(embedding.tokens).shape[1]);
    if (vectors.linear.present()) {
      width = declarations_.outputs(vectors.linear);
      LINFORMER_TRY(declarations_.linear(vectors.linear, Activation::none, false, &program_.vector_linear));
    }
    program_.embedding_width = width;
    // Rows are made in the per-thread buffers: vectors in the query's, the sum with positions in the ffn's.
    widen_query(std::max<int64_t>(width, vectors.width));
    widen_ffn(width);
    if (embedding.position_kind == PositionKind::sinusoidal_halves ||
        embedding.position_kind == PositionKind::sinusoidal_interleaved) {
      program_.table_rows = std::max<int64_t>(program_.plan.options.max_tokens + embedding.position_offset,
                                              int64_t{embedding.pad_position} + 1);
    }
    if (embedding.factor.present()) {
      LINFORMER_TRY(declarations_.linear(embedding.factor, Activation::none, false, &program_.factor));
    }
    if (!embedding.transform.present()) return {};
    return declarations_.linear(embedding.transform, Activation::none, false, &program_.transform);
  }

  Status layer(const LayerDescription& description, LayerProgram* layer) {
    const AttentionDescription& attention = description.attention;
    layer->description = &description;
    layer->width_in = declarations_.inputs(attention.query);
    layer->source_width = declarations_.inputs(attention.key);
    layer->query_width = int64_t{attention.heads} * attention.head_dim;
    layer->key_width = int64_t{attention.kv_heads} * attention.head_dim;
    const bool adds = encoder_.residual != ResidualKind::none;
    widen_query(layer->query_width);
    LINFORMER_TRY(declare_attention(encoder_, &declarations_, layer, &program_));
    LINFORMER_TRY(declarations_.linear(attention.query, Activation::none, false, &layer->query));

    layer->width_between = layer->query_width;
    int64_t second_inner = 0;
    if (attention.output_second.present()) {
      second_inner = declarations_.outputs(attention.output);
      layer->width_between = declarations_.outputs(attention.output_second);
      LINFORMER_TRY(declarations_.linear(attention.output, Activation::none, false, &layer->output));
      LINFORMER_TRY(declarations_.linear(attention.output_second, Activation::none, adds, &layer->output_second));
    } else if (attention.output.present()) {
      layer->width_between = declarations_.outputs(attention.output);
      LINFORMER_TRY(declarations_.linear(attention.output, Activation::none, adds, &layer->output));
    }
    widen(layer->width_between);
    if (description.attention_resample.present()) {
      LINFORMER_TRY(
          declarations_.linear(description.attention_resample, Activation::none, false, &layer->attention_resample));
      second_inner += layer->width_between;
    }
    widen_ffn(second_inner);

    layer->width_out = layer->width_between;
    if (!description.ffn_in.present()) return {};
    layer->width_out = declarations_.outputs(description.ffn_out);
    widen(layer->width_out);
    widen_ffn(declarations_.outputs(description.ffn_in));
    LINFORMER_TRY(declarations_.linear(description.ffn_in, description.activation, false, &layer->ffn_in));
    LINFORMER_TRY(declarations_.linear(description.ffn_out, Activation::none, adds, &layer->ffn_out));
    if (!description.ffn_resample.present()) return {};
    return declarations_.linear(description.ffn_resample, Activation::none, false, &layer->ffn_resample);
  }

  Status sentence_embedding() {
    const SentenceEmbedding& embedding = description_.embedding;
    if (!embedding.present || !embedding.dense.present()) return {};
    return declarations_.linear(embedding.dense, embedding.activation, false, &program_.embedding_dense);
  }

  Status classification_heads() {
    const SessionOptions& options = program_.plan.options;
    program_.score_rows = options.max_batch;
    for (size_t i = 0; i < description_.heads.size(); ++i) {
      const ClassificationHead& head = description_.heads[i];
      HeadProgram& ids = program_.heads[i];
      if (head.pooling == Pooling::none) program_.score_rows = options.max_rows;
      const int64_t input = declarations_.inputs(head.dense.present() ? head.dense : head.output);
      if (head.norm.present() || head.pairing != Pairing::none) {
        program_.paired_stride = std::max(program_.paired_stride, input);
      }
      if (head.dense.present()) {
        LINFORMER_TRY(declarations_.linear(head.dense, head.activation, false, &ids.dense));
        program_.head_stride = std::max(program_.head_stride, declarations_.outputs(head.dense));
      }
      LINFORMER_TRY(declarations_.linear(head.output, Activation::none, false, &ids.output));
      program_.classes_stride = std::max(program_.classes_stride, declarations_.outputs(head.output));
    }
    return {};
  }

  Status masked_lm() {
    const MaskedLmHead& mlm = description_.mlm;
    if (!mlm.present()) return {};
    if (mlm.dense.present()) {
      LINFORMER_TRY(declarations_.linear(mlm.dense, mlm.activation, false, &program_.mlm_dense));
      widen_ffn(declarations_.outputs(mlm.dense));
    }
    GemmDesc shape = declarations_.linear_shape(mlm.output);
    shape.bias = mlm.output.bias != absent;
    program_.mlm_tied = declarations_.tensor(mlm.output.weight).layout == TensorLayout::row_major;
    if (program_.mlm_tied) shape.layout = RightLayout::transposed;
    return declarations_.add(shape, &program_.mlm_output);
  }

  const ModelDescription& description_;
  const EncoderDescription& encoder_;
  Program& program_;
  Declarations declarations_;
};

}  // namespace

Status declare_products(const Model& model, Program* program) { return Builder(model, program).build(); }

}  // namespace linformer
