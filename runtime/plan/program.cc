#include "plan/program.h"

#include <algorithm>

#include "base/checked.h"

namespace linformer {
namespace {

// Declares products to the backend, equal shapes once.
class Declarations {
 public:
  explicit Declarations(Backend* backend) : backend_(backend) {}

  Status add(const ProductShape& shape, int* id) {
    for (const auto& [declared, declared_id] : declared_) {
      if (same(declared, shape)) {
        *id = declared_id;
        return {};
      }
    }
    Result<int> added = backend_->add(shape);
    if (!added.ok()) return added.status();
    *id = added.value();
    declared_.push_back({shape, *id});
    return {};
  }

 private:
  static bool same(const ProductShape& a, const ProductShape& b) {
    return a.max_m == b.max_m && a.n == b.n && a.k == b.k && a.varying_k == b.varying_k && a.varying_n == b.varying_n &&
           a.layout == b.layout && a.type == b.type && a.activation == b.activation && a.bias == b.bias &&
           a.row_bias == b.row_bias && a.residual == b.residual && a.accumulate == b.accumulate;
  }

  Backend* backend_;
  std::vector<std::pair<ProductShape, int>> declared_;
};

class Builder {
 public:
  Builder(const Model& model, Program* program)
      : description_(model.description()),
        encoder_(description_.encoder),
        program_(*program),
        declarations_(program->backend.get()) {}

  Status build() {
    program_.d = encoder_.d_model;
    program_.packs = program_.backend->wants_packed_activations();
    program_.layers.resize(encoder_.layers.size());
    if (encoder_.embedding.transform.present()) {
      LINFORMER_TRY(linear(encoder_.embedding.transform, Activation::none, false, &program_.transform));
    }
    for (size_t i = 0; i < encoder_.layers.size(); ++i) LINFORMER_TRY(layer(encoder_.layers[i], &program_.layers[i]));
    LINFORMER_TRY(classification_heads());
    return masked_lm();
  }

 private:
  const TensorDescription& tensor(TensorIndex index) const { return description_.tensors[index]; }
  int64_t inputs(const Linear& l) const { return static_cast<int64_t>(tensor(l.weight).shape[1]); }
  int64_t outputs(const Linear& l) const { return static_cast<int64_t>(tensor(l.weight).shape[0]); }

  ProductShape linear_shape(const Linear& l) const {
    ProductShape shape;
    shape.max_m = program_.plan.block_rows;
    shape.n = outputs(l);
    shape.k = inputs(l);
    shape.type = tensor(l.weight).type;
    return shape;
  }

  Status linear(const Linear& l, Activation activation, bool residual, int* id) {
    ProductShape shape = linear_shape(l);
    shape.activation = activation;
    shape.bias = l.bias != absent;
    shape.residual = residual;
    return declarations_.add(shape, id);
  }

  Status side(const AttentionDescription& attention, Side which, bool shared, int64_t project_first_below,
              CompressedSide* side) {
    side->projection =
        &encoder_.projections[(which == key_side ? attention.key_projections : attention.value_projections)[0]];
    side->linear = which == key_side ? &attention.key : &attention.value;
    const Projection& projection = *side->projection;
    const bool bias_before_projection = projection.order == ProjectionOrder::after_linear;
    const bool has_bias = side->linear->bias != absent;
    const bool has_row_bias = projection.bias != absent;
    const int64_t longest = program_.plan.options.max_tokens;

    ProductShape compress;
    compress.max_m = projection.k;
    compress.layout = RightLayout::row_major;
    compress.k = longest;
    compress.varying_k = true;
    if (longest >= project_first_below) {
      if (which == key_side || !shared) {
        compress.n = std::min(program_.d, compress_columns);
        compress.varying_n = program_.d % compress.n != 0;
        LINFORMER_TRY(declarations_.add(compress, &side->compress));
      }
      ProductShape shape = linear_shape(*side->linear);
      shape.bias = has_bias && !bias_before_projection;
      shape.row_bias = has_row_bias;
      side->needs_row_sums = has_bias && bias_before_projection;
      LINFORMER_TRY(declarations_.add(shape, &side->linear_after));
    }
    if (project_first_below > 1) {
      ProductShape shape = linear_shape(*side->linear);
      shape.bias = has_bias && bias_before_projection;
      LINFORMER_TRY(declarations_.add(shape, &side->linear_first));
      compress.k = std::min(longest, project_first_below - 1);
      compress.n = outputs(*side->linear);
      compress.varying_n = false;
      compress.bias = has_bias && !bias_before_projection;
      compress.row_bias = has_row_bias;
      LINFORMER_TRY(declarations_.add(compress, &side->compress_after));
    }
    return {};
  }

  // Multiply-adds of both sides for a text of n tokens, compressed first:
  //   (1 or 2) n k d + 2 k d D;  projected first: 2 n d D + 2 n k D.
  // Compressing first wins from n = 2 k d D / (2 d D + 2 k D - c k d) on, c = 1 when E = F, else 2.
  int64_t project_first_below(const AttentionDescription& attention, int64_t k, bool shared) const {
    const double d = static_cast<double>(program_.d), width = static_cast<double>(outputs(attention.key));
    const double rows = static_cast<double>(k);
    const double gain = 2 * d * width + 2 * rows * width - (shared ? 1 : 2) * rows * d;
    if (gain <= 0) return encoder_.max_tokens + int64_t{1};
    const double equal = 2 * rows * d * width / gain;
    return equal >= encoder_.max_tokens ? encoder_.max_tokens + int64_t{1} : static_cast<int64_t>(equal) + 1;
  }

  Status layer(const LayerDescription& description, LayerProgram* layer) {
    const AttentionDescription& attention = description.attention;
    layer->description = &description;
    const Projection& key = encoder_.projections[attention.key_projections[0]];
    const Projection& value = encoder_.projections[attention.value_projections[0]];
    layer->k = key.k;
    layer->shared_projection = attention.key_projections == attention.value_projections || key.weight == value.weight;
    layer->project_first_below = project_first_below(attention, layer->k, layer->shared_projection);
    program_.plan.project_first_below = std::max(program_.plan.project_first_below, layer->project_first_below);
    for (Side which : {key_side, value_side}) {
      LINFORMER_TRY(side(attention, which, layer->shared_projection, layer->project_first_below, &layer->sides[which]));
    }
    LINFORMER_TRY(linear(attention.query, Activation::none, false, &layer->query));
    LINFORMER_TRY(linear(attention.output, Activation::none, true, &layer->output));
    LINFORMER_TRY(linear(description.ffn_in, description.activation, false, &layer->ffn_in));
    LINFORMER_TRY(linear(description.ffn_out, Activation::none, true, &layer->ffn_out));

    ProductShape scores;
    scores.max_m = program_.plan.block_rows;
    scores.n = layer->k;
    scores.k = attention.head_dim;
    scores.layout = program_.packs ? RightLayout::panel16 : RightLayout::transposed;
    LINFORMER_TRY(declarations_.add(scores, &layer->scores));
    ProductShape context = scores;
    context.n = attention.head_dim;
    context.k = layer->k;
    context.layout = program_.packs ? RightLayout::panel16 : RightLayout::row_major;
    LINFORMER_TRY(declarations_.add(context, &layer->context));

    const int64_t width = int64_t{attention.heads} * attention.head_dim;
    program_.attention_width = std::max(program_.attention_width, width);
    program_.scores_stride = std::max(program_.scores_stride, round_up(layer->k, panel_width));
    program_.ffn_stride = std::max(program_.ffn_stride, outputs(description.ffn_in));
    program_.key_elements = std::max(program_.key_elements, layer->k * width);
    const int64_t packed = program_.packs ? attention.heads * std::max(panel_elements(attention.head_dim, layer->k),
                                                                       panel_elements(layer->k, attention.head_dim))
                                          : 0;
    const int64_t projected_first = std::min(program_.plan.options.max_tokens, layer->project_first_below - 1) * width;
    program_.compressed_elements =
        std::max({program_.compressed_elements, layer->k * std::max(program_.d, width), packed, projected_first});
    return {};
  }

  Status classification_heads() {
    for (const ClassificationHead& head : description_.heads) {
      HeadProgram ids;
      if (head.dense.present()) {
        LINFORMER_TRY(linear(head.dense, head.activation, false, &ids.dense));
        program_.head_stride = std::max(program_.head_stride, outputs(head.dense));
      }
      LINFORMER_TRY(linear(head.output, Activation::none, false, &ids.output));
      program_.classes_stride = std::max(program_.classes_stride, outputs(head.output));
      program_.heads.push_back(ids);
    }
    return {};
  }

  Status masked_lm() {
    const MaskedLmHead& mlm = description_.mlm;
    if (!mlm.present()) return {};
    if (mlm.dense.present()) {
      LINFORMER_TRY(linear(mlm.dense, mlm.activation, false, &program_.mlm_dense));
      program_.ffn_stride = std::max(program_.ffn_stride, outputs(mlm.dense));
    }
    ProductShape shape = linear_shape(mlm.output);
    shape.bias = mlm.output.bias != absent;
    program_.mlm_tied = tensor(mlm.output.weight).layout == TensorLayout::row_major;
    if (program_.mlm_tied) shape.layout = RightLayout::transposed;
    return declarations_.add(shape, &program_.mlm_output);
  }

  const ModelDescription& description_;
  const EncoderDescription& encoder_;
  Program& program_;
  Declarations declarations_;
};

Status resolve(const EncoderDescription& encoder, SessionOptions* options) {
  if (options->max_tokens == 0) options->max_tokens = encoder.max_tokens;
  if (options->max_tokens < 1 || options->max_tokens > encoder.max_tokens) {
    return Status::error(Code::invalid_argument, "max_tokens is %lld: this model takes 1 to %u tokens",
                         static_cast<long long>(options->max_tokens), encoder.max_tokens);
  }
  constexpr int64_t most_texts = 1 << 20;
  if (options->max_batch < 1 || options->max_batch > most_texts) {
    return Status::error(Code::invalid_argument, "max_batch is %lld: give 1 to %lld",
                         static_cast<long long>(options->max_batch), static_cast<long long>(most_texts));
  }
  const int64_t most_rows = options->max_tokens * options->max_batch;
  if (options->max_rows == 0) options->max_rows = most_rows;
  if (options->max_rows < 1) {
    return Status::error(Code::invalid_argument, "max_rows is %lld: give at least 1, or 0 for max_tokens x max_batch",
                         static_cast<long long>(options->max_rows));
  }
  options->max_rows = std::min(options->max_rows, most_rows);
  if (options->threads < 1 || options->threads > 256) {
    return Status::error(Code::invalid_argument, "threads is %d: give 1 to 256", options->threads);
  }
  return {};
}

}  // namespace

Result<Program> make_program(const Model& model, const SessionOptions& options) {
  const ModelDescription& description = model.description();
  Program program;
  program.plan.options = options;
  LINFORMER_TRY(check_executable(description));
  LINFORMER_TRY(resolve(description.encoder, &program.plan.options));
  program.kernels = kernels_for(options.isa);
  if (program.kernels == nullptr) {
    return Status::error(Code::unsupported, "this machine or build has no %s kernels: choose another instruction set",
                         name_of(options.isa));
  }
  program.plan.options.isa = program.kernels->isa;
  program.plan.block_rows = std::min(max_block_rows, round_up(program.plan.options.max_rows, panel_width));
  Result<std::unique_ptr<Backend>> backend = make_backend(options.backend, *program.kernels);
  if (!backend.ok()) return backend.status();
  program.backend = std::move(backend.value());
  LINFORMER_TRY(Builder(model, &program).build());
  LINFORMER_TRY(lay_out(description, &program));
  return program;
}

Result<Plan> plan(const Model& model, const SessionOptions& options) {
  Result<Program> program = make_program(model, options);
  if (!program.ok()) return program.status();
  return program->plan;
}

}  // namespace linformer
