#include "converter/dialects/lucidrains/lucidrains.h"

#include "base/description.h"
#include "converter/dialects/lucidrains/layers.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using namespace lucidrains;

constexpr const char* model_prefix = "linformer.";  // of LinformerLM's layers
constexpr const char* model_name = "a model of the linformer package";

std::string same(std::string name) { return name; }

// "linformer." where any name begins so: a language model.
std::string prefix_of(const TensorTable& tensors) {
  return tensors.any(std::string(model_prefix) + "**") ? model_prefix : "";
}

// The package has no classifier, so people write their own around its encoder, with names of their own.
constexpr const char* names_of_own_models =
    "call the embedding token_emb.weight, the positions pos_emb.weight and a Linear to the vocabulary to_logits, as "
    "LinformerLM does, with the encoder below linformer.; a pooling is chosen where texts are embedded, and a head is "
    "applied to those vectors (converter/README.md, A classifier of one's own)";

void check_language_model(const TensorTable& tensors) {
  for (const char* name : {"token_emb.weight", "pos_emb.weight", "to_logits.weight"}) {
    if (tensors.find(name) != nullptr) continue;
    fail("the encoder is below ", model_prefix, ", as LinformerLM's, but the tensor ", name,
         " is missing. Of a model of one's own around it ", names_of_own_models,
         "; or save the encoder's own state_dict, which becomes a model of vectors");
  }
}

void add_embedding(Conversion& conversion, TensorTable& tensors, const Settings& settings) {
  EncoderDescription& encoder = conversion.description.encoder;
  Report& report = conversion.report;
  const Tensor& tokens = tensors.need("token_emb.weight");
  encoder.vocab_size = dimension(tokens, 0);
  encoder.d_model = dimension(tokens, 1);
  const Size vocabulary{encoder.vocab_size, "num_tokens"}, d_model{encoder.d_model, "dim"};
  encoder.embedding.tokens = conversion.weights.table("embedding.tokens", tokens, vocabulary, d_model);
  encoder.embedding.position_kind = PositionKind::learned;
  encoder.embedding.positions = conversion.weights.table("embedding.positions", tensors.need("pos_emb.weight"),
                                                         {encoder.max_tokens, "seq_len"}, d_model);
  report.add_fact("vocabulary", std::to_string(encoder.vocab_size), "shape of " + tokens.name);
  check_agreement(settings, "num_tokens", encoder.vocab_size, "tokens");
  if (const std::optional<Setting<int64_t>> pad = settings.integer("pad_id")) {
    if (pad->value < -1 || pad->value >= int64_t{encoder.vocab_size}) {
      fail("the setting pad_id is ", pad->value, " (", pad->source, "): the model has tokens 0 to ",
           encoder.vocab_size - 1);
    }
    encoder.pad_id = static_cast<int32_t>(pad->value);
    report.add_fact("pad id", std::to_string(pad->value), "pad_id, " + pad->source);
  } else {
    report.add_fact("pad id", "none", "this package knows no padding");
  }
}

void add_language_model(Conversion& conversion, TensorTable& tensors) {
  const EncoderDescription& encoder = conversion.description.encoder;
  conversion.description.mlm.output = read_linear(conversion, tensors, "mlm.output", "to_logits",
                                                  {encoder.vocab_size, "num_tokens"}, {encoder.d_model, "dim"});
  conversion.report.add_fact("language-model head", "logits straight from the last layer", "to_logits is there");
}

// Vectors in, vectors out.
void take_vectors(EncoderDescription* encoder, uint32_t width) {
  encoder->d_model = width;
  encoder->embedding.vectors.width = width;
}

void convert_attention(Conversion& conversion, TensorTable& tensors, const Settings& settings) {
  EncoderDescription& encoder = conversion.description.encoder;
  const Tensor& query = tensors.need("to_q.weight");
  take_vectors(&encoder, dimension(query, 1));
  encoder.max_tokens = dimension(tensors.need("proj_k"), 0);
  encoder.residual = ResidualKind::none;
  encoder.encoder_states_width = encoder.d_model;
  LayerDescription& layer = encoder.layers.emplace_back();
  layer.attention.key_source = KeySource::encoder_states_or_own;
  AttentionReader reader(conversion, tensors, settings);
  reader.read("", 0, &layer.attention);
  reader.report();
}

void convert_layers(Conversion& conversion, TensorTable& tensors, const Settings& settings) {
  EncoderDescription& encoder = conversion.description.encoder;
  const std::string prefix = prefix_of(tensors);
  const std::optional<Layout> layout = layout_of(tensors, prefix);
  if (!layout) fail("there are no layers called ", prefix, "net.*: the checkpoint is incomplete");
  encoder.max_tokens = projected_positions(tensors, prefix, *layout);
  if (!prefix.empty()) {
    check_language_model(tensors);
    add_embedding(conversion, tensors, settings);
  } else {
    // The norm of the first layer's first half, in each layout.
    const std::string norm = *layout == Layout::layers       ? "net.layers.0.0.norm.weight"
                             : *layout == Layout::reversible ? "net.blocks.0.f.net.norm.weight"
                                                             : "net.0.fn.norm.weight";
    take_vectors(&encoder, dimension(tensors.need(norm), 0));
    if (const auto& others = conversion.report.left_out; !others.empty()) {
      conversion.report.cautions.push_back(
          "the tensors beside Linformer (" + escaped(others.front().tensor) + (others.size() > 1 ? " and others" : "") +
          ") were left out, so the model takes vectors. For one that takes tokens " + names_of_own_models);
    }
  }
  add_layers(conversion, tensors, settings, prefix, *layout);
  if (!prefix.empty()) add_language_model(conversion, tensors);
  conversion.report.notes.push_back(
      *layout == Layout::pairs
          ? "Versions 0.1.0 and older of the package take texts of exactly N tokens. Shorter ones are answered with "
            "the first columns of the projections, as version 0.2.3 does."
          : "Texts shorter than N are answered as version 0.2.3 does; versions 0.2.0 and 0.2.1 take exactly N tokens.");
}

}  // namespace

DialectFacts Lucidrains::facts() const {
  return {"LinformerLM, Linformer and LinformerSelfAttention of the package linformer",
          "https://github.com/lucidrains/linformer",
          {{R"({"heads": 8})", "models with one key head for each head"},
           {R"({"pad_id": 0})", "texts that are padded; the package itself knows no padding"}}};
}

Recognition Lucidrains::recognise(const Checkpoint& checkpoint) const {
  const size_t prefix = wrapper_prefix(checkpoint);
  bool projection = false, query = false;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = tensor.name.substr(prefix);
    if (is_projection(name, model_prefix) || is_projection(name, "")) return {100, "the tensor " + tensor.name};
    projection = projection || name == "proj_k";
    query = query || name == "to_q.weight";
  }
  if (projection && query) return {100, "the tensors proj_k and to_q.weight: an attention on its own"};
  return {0,
          "[linformer.]net.layers.*.0.fn.proj_k, net.blocks.*.f.net.fn.proj_k, net.*.fn.fn.proj_k or proj_k (not "
          "there)"};
}

void Lucidrains::convert(Conversion& conversion) const {
  TensorTable tensors(conversion.checkpoint, same);
  const Settings settings = settings_beside(conversion);
  if (tensors.find("proj_k") != nullptr) {
    convert_attention(conversion, tensors, settings);
  } else {
    convert_layers(conversion, tensors, settings);
  }
  const EncoderDescription& encoder = conversion.description.encoder;
  conversion.report.add_fact("d_model", std::to_string(encoder.d_model), "shapes of the tensors");
  conversion.report.add_fact("longest text (N)", std::to_string(encoder.max_tokens), "rows of proj_k");
  check_agreement(settings, "dim", encoder.d_model, "channels");
  check_agreement(settings, "seq_len", encoder.max_tokens, "positions");
  tensors.account_for_rest({}, model_name, conversion.report);
}

}  // namespace linformer::convert
