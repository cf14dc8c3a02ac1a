#include "converter/dialects/xformers/xformers.h"

#include <array>
#include <initializer_list>
#include <optional>
#include <string>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/rotary.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

constexpr const char* key_projection = "attention.E.weight";
constexpr const char* value_projection = "attention.F.weight";
constexpr const char* frequencies = "rotary_embeddings.inv_freq";
constexpr NamePattern known_rest[] = {{frequencies, "rounded to half precision; its powers are computed anew"}};
constexpr const char* inputs = "in_proj_container.";
constexpr std::array letters = {"q", "k", "v"};

std::string same(std::string name) { return name; }

// Finds the weights and biases of query, key and value, which may be packed in one tensor, separate, or shared.
class InputProjections {
 public:
  InputProjections(TensorTable& tensors, Report& report) : tensors_(tensors), report_(report) {
    packed_weight_ = first_of({"in_proj_weight", "in_proj.weight"});
    packed_bias_ = first_of({"in_proj_bias", "in_proj.bias"});
    width_ = packed_weight_ != nullptr ? third_of(*packed_weight_) : dimension(weight(0), 0);
  }

  uint64_t width() const { return width_; }
  Tensor weight(size_t part) {
    if (packed_weight_ != nullptr) return packed_part(*packed_weight_, part, width_);
    const Tensor* own = own_or_shared(part, {"_proj.weight", "_proj_weight"});
    if (own == nullptr) return tensors_.need(inputs + std::string(letters[part]) + "_proj.weight");
    return *own;
  }
  std::optional<Tensor> bias(size_t part) {
    if (packed_bias_ != nullptr) {
      third_of(*packed_bias_);
      return packed_part(*packed_bias_, part, width_);
    }
    const Tensor* own = own_or_shared(part, {"_proj.bias"});
    return own == nullptr ? std::nullopt : std::optional<Tensor>(*own);
  }

 private:
  const Tensor* first_of(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (const Tensor* tensor = tensors_.use(std::string(inputs) + name)) return tensor;
    }
    return nullptr;
  }

  uint64_t third_of(const Tensor& packed) const {
    const uint64_t rows = dimension(packed, 0);
    if (rows % 3 != 0 || (width_ != 0 && rows != 3 * width_)) {
      fail("the tensor ", quote(packed.name), " is ", shape_text(packed),
           ": it should have the rows of query, key and value, equally many of each");
    }
    return rows / 3;
  }

  // Returns the tensor of a part or, if that is absent, the only one that any part has: a file may keep only one name
  // of a tensor that query, key and value share. Returns null if no part has one.
  const Tensor* own_or_shared(size_t part, std::initializer_list<const char*> suffixes) {
    for (const char* suffix : suffixes) {
      const std::string name = std::string(inputs) + letters[part] + suffix;
      if (const Tensor* own = tensors_.use(name)) return own;
    }
    const Tensor* only = nullptr;
    for (const char* suffix : suffixes) {
      for (const char* letter : letters) {
        const Tensor* other = tensors_.find(std::string(inputs) + letter + suffix);
        if (other == nullptr) continue;
        if (only != nullptr)
          fail("the tensor ", inputs, letters[part], suffix, " is missing: the checkpoint is incomplete");
        only = other;
      }
    }
    if (only != nullptr) {
      report_.notes.push_back(only->name + " is taken for the " + packed_roles[part] +
                              " too: it is the only one of its kind, so query, key and value share it.");
    }
    return only;
  }

  TensorTable& tensors_;
  Report& report_;
  const Tensor *packed_weight_ = nullptr, *packed_bias_ = nullptr;
  uint64_t width_ = 0;  // The width of the queries.
};

// Returns the base of the rotary positions, or 0 if the model has none.
float rotary_base_of(Conversion& conversion, TensorTable& tensors, const Settings& settings, uint32_t head_dim) {
  const std::optional<Setting<bool>> said = settings.flag("use_rotary_embeddings");
  const Tensor* kept = tensors.find(frequencies);
  Report& report = conversion.report;
  if (kept == nullptr) {
    if (!said || !said->value) return 0;
    report.add_fact("rotary positions", base_text(usual_rotary_base), "use_rotary_embeddings, " + said->source);
    return usual_rotary_base;
  }
  if (said && !said->value) {
    fail("the setting use_rotary_embeddings is false (", said->source, ") but the checkpoint has ", quote(kept->name));
  }
  if (is_16_bit(*kept)) {
    if (!said) {
      fail("the tensor ", quote(kept->name), " ", shape_text(*kept),
           " was rounded with the weights: to take the powers of 10000 that it was made from give ",
           config_option("{\"use_rotary_embeddings\": true}"));
    }
    check_rounded_frequencies(*kept, conversion.weights.read(*kept), head_dim);
    report.add_fact("rotary positions", base_text(usual_rotary_base), "use_rotary_embeddings, " + said->source);
    return usual_rotary_base;
  }
  // No part of the description refers to this tensor. The model file keeps it for the export.
  conversion.weights.floats("layers[0].attention.rotary_base", tensors.need(frequencies),
                            {{head_dim / 2, "half of a head's channels"}});
  const float base = rotary_base(*kept, conversion.weights.read(*kept), head_dim);
  report.add_fact("rotary positions", base_text(base), "values of " + kept->name);
  return base;
}

void add_attention(Conversion& conversion, TensorTable& tensors, const Settings& settings) {
  EncoderDescription& encoder = conversion.description.encoder;
  WeightWriter& weights = conversion.weights;
  LayerDescription& layer = encoder.layers.emplace_back();
  AttentionDescription& attention = layer.attention;
  const std::string role = "layers[0].attention.";
  InputProjections projected(tensors, conversion.report);
  const Size d_model{encoder.d_model, "dim_model"}, width{projected.width(), "width of the queries"};
  Linear* const targets[] = {&attention.query, &attention.key, &attention.value};
  for (size_t i = 0; i < packed_roles.size(); ++i) {
    const std::optional<Tensor> bias = projected.bias(i);
    *targets[i] = weights.linear(role + packed_roles[i], projected.weight(i), bias ? &*bias : nullptr, width, d_model);
  }
  attention.output = read_linear_maybe_bias(conversion, tensors, role + "output", "proj", d_model, width);
  attention.heads = attention.kv_heads = read_head_count(settings, "num_heads", width.value, conversion.report);
  attention.head_dim = static_cast<uint32_t>(width.value) / attention.heads;
  attention.scale = usual_scale(attention.head_dim);
  attention.rotary_base = rotary_base_of(conversion, tensors, settings, attention.head_dim);
  if (attention.rotary_base == 0) {
    attention.key_source = KeySource::encoder_states_or_own;
    encoder.encoder_states_width = encoder.d_model;
  } else {
    conversion.report.notes.push_back(
        "With rotary positions the model file reads keys and values of its own rows only.");
  }
  ProjectionTable projections(encoder, weights, ProjectionOrder::after_linear);
  attention.key_projections = {projections.add(role + "key_projection", tensors.need(key_projection))};
  attention.value_projections = {projections.add(role + "value_projection", tensors.need(value_projection))};
  check_same_k(encoder, attention, 0);
  projections.report(conversion.report);
}

}  // namespace

DialectFacts Xformers::facts() const {
  return {
      "xformers' MultiHeadDispatch with LinformerAttention",
      "https://github.com/facebookresearch/xformers",
      {{R"({"num_heads": 8})", "always"},
       {R"({"use_rotary_embeddings": true})", "models with rotary positions in half precision or without inv_freq"}}};
}

Recognition Xformers::recognise(const Checkpoint& checkpoint) const {
  const size_t prefix = wrapper_prefix_length(checkpoint);
  bool projection = false, input = false;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = tensor.name.substr(prefix);
    projection = projection || name == key_projection;
    input = input || name.starts_with(inputs);
  }
  if (projection && input) return {100, std::string("the tensors ") + key_projection + " and " + inputs + "*"};
  return {0, std::string(key_projection) + " with " + inputs + "* (not there)"};
}

void Xformers::convert(Conversion& conversion) const {
  TensorTable tensors(conversion.checkpoint, same);
  const Settings settings = user_and_checkpoint_settings(conversion);
  EncoderDescription& encoder = conversion.description.encoder;
  Report& report = conversion.report;
  const Tensor& projection = tensors.need(key_projection);
  encoder.max_tokens = dimension(projection, 1);
  encoder.d_model = dimension(tensors.need("proj.weight"), 0);
  encoder.embedding.vectors.width = encoder.d_model;
  encoder.residual = ResidualKind::none;
  add_attention(conversion, tensors, settings);
  check_agreement(settings, "dim_model", encoder.d_model, "channels");
  check_agreement(settings, "seq_len", encoder.max_tokens, "positions");
  check_agreement(settings, "k", dimension(projection, 0), "compressed positions");
  report.add_fact("d_model", std::to_string(encoder.d_model), "shape of proj.weight");
  report.add_fact("longest text (N)", std::to_string(encoder.max_tokens), "columns of " + projection.name);
  report.add_fact("compressed length (k)", std::to_string(projection.shape[0]), "rows of " + projection.name);
  tensors.report_or_reject_unused(known_rest, "an xformers Linformer attention", report);
}

}  // namespace linformer::convert
