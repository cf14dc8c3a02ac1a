#include "converter/dialects/lucidrains/lucidrains.h"

#include <algorithm>

#include "base/description.h"
#include "converter/dialects/lucidrains/layers.h"
#include "converter/dialects/own_model/own_model.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using namespace lucidrains;

constexpr const char* model_prefix = "linformer.";  // The names of LinformerLM's layers begin with it.
constexpr const char* model_name = "a model of the linformer package";
constexpr const char* heads_setting = R"("heads": NUMBER)";

std::string same(std::string name) { return name; }

// Returns "linformer." if any name begins with it, as in a language model, and an empty text otherwise.
std::string prefix_of(const TensorTable& tensors) {
  return tensors.any(std::string(model_prefix) + "**") ? model_prefix : "";
}

void check_language_model(const Conversion& conversion, const TensorTable& tensors) {
  for (const char* name : {"token_emb.weight", "pos_emb.weight", "to_logits.weight"}) {
    if (tensors.find(name) != nullptr) continue;
    const Checkpoint& checkpoint = conversion.checkpoint;
    if (!tensors.any("to_logits.*")) {  // Only LinformerLM has a head of this name.
      reject_unconfigured_own_model(
          checkpoint, checkpoint.tensors[0].name.substr(0, wrapper_prefix_length(checkpoint)) + model_prefix,
          "linformer", heads_setting);
    }
    fail("names of layers begin with ", model_prefix, ", as in LinformerLM, but the tensor ", name,
         " is missing: save the encoder's own state_dict, which becomes a model that takes vectors, or say what the "
         "other tensors are (converter/README.md, A classifier of one's own)");
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

// Makes the model take vectors of this width instead of tokens.
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
  const std::optional<Setting<bool>> renorm = settings.flag("renorm");
  AttentionReader reader(conversion, tensors, settings,
                         renorm && renorm->value ? LengthScale::restored_norm : LengthScale::none);
  reader.read("", 0, &layer.attention);
  reader.report();
}

// Returns the name of the norm before the first layer's attention.
const char* first_norm(Layout layout) {
  switch (layout) {
    case Layout::layers:
      return "net.layers.0.0.norm.weight";
    case Layout::reversible:
      return "net.blocks.0.f.net.norm.weight";
    case Layout::fours:
      return "layers.0.0.weight";
    case Layout::pairs:
      break;
  }
  return "net.0.fn.norm.weight";
}

void note_versions(Layout layout, Report& report) {
  if (layout == Layout::fours) return;
  report.notes.push_back(
      layout == Layout::pairs
          ? "Versions 0.1.0 and older of the package take texts of exactly N tokens. Shorter ones are answered with "
            "the first columns of the projections, as version 0.2.3 does."
          : "Texts shorter than N are answered as version 0.2.3 does; versions 0.2.0 and 0.2.1 take exactly N tokens.");
}

// Converts a model that somebody wrote around the package's encoder, with an embedding and a head of their own.
void convert_own(Conversion& conversion, TensorTable& tensors, const Settings& settings, const OwnModel& own) {
  EncoderDescription& encoder = conversion.description.encoder;
  const std::optional<Layout> layout = layout_of(tensors, model_prefix);
  if (!layout) fail("there are no layers called ", own.encoder, "net.*: the checkpoint is incomplete");
  encoder.d_model = dimension(tensors.need(model_prefix + std::string(first_norm(*layout))), 0);
  encoder.max_tokens = projection_input_length(tensors, model_prefix, *layout);
  const std::optional<Tensor> positions = own_model_position_table(tensors, own, "pos_emb.weight");
  if (positions) encoder.max_tokens = std::min(encoder.max_tokens, dimension(*positions, 0));
  add_own_model_embedding(conversion, tensors, own, "token_emb.weight", positions);
  add_layers(conversion, tensors, settings, model_prefix, *layout);
  add_own_model_head(conversion, tensors, own);
  note_versions(*layout, conversion.report);
}

void convert_layers(Conversion& conversion, TensorTable& tensors, const Settings& settings) {
  EncoderDescription& encoder = conversion.description.encoder;
  const std::string prefix = prefix_of(tensors);
  const std::optional<Layout> layout = layout_of(tensors, prefix);
  if (!layout) fail("there are no layers called ", prefix, "net.*: the checkpoint is incomplete");
  encoder.max_tokens = projection_input_length(tensors, prefix, *layout);
  if (!prefix.empty()) {
    check_language_model(conversion, tensors);
    add_embedding(conversion, tensors, settings);
  } else {
    take_vectors(&encoder, dimension(tensors.need(first_norm(*layout)), 0));
    if (const auto& others = conversion.report.left_out; !others.empty()) {
      conversion.report.cautions.push_back(
          "the tensors beside Linformer (" + escaped(others.front().tensor) + (others.size() > 1 ? " and others" : "") +
          ") were left out, so the model takes vectors. For one that takes tokens give settings that name its parts "
          "(converter/README.md, A classifier of one's own)");
    }
  }
  add_layers(conversion, tensors, settings, prefix, *layout);
  if (!prefix.empty()) add_language_model(conversion, tensors);
  note_versions(*layout, conversion.report);
}

}  // namespace

DialectFacts Lucidrains::facts() const {
  return {
      "LinformerLM, Linformer and LinformerSelfAttention of the package linformer",
      "https://github.com/lucidrains/linformer",
      {{R"({"heads": 8})", "models with as many key heads as heads"},
       {R"({"pad_id": 0})", "texts that are padded; the package itself has no pad token"},
       {R"({"renorm": true})", "models of masked-linformer; or false"},
       {R"({"encoder_prefix": "encoder", "embedding": "embedding", "positions": "positions", "pooling": "mean", "head": "head"})",
        "a classifier that somebody wrote around Linformer; the values are the names of its parts"}}};
}

Recognition Lucidrains::recognise(const Checkpoint& checkpoint) const {
  const size_t prefix = wrapper_prefix_length(checkpoint);
  bool projection = false, query = false;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = tensor.name.substr(prefix);
    if (is_key_projection_name(name, model_prefix) || is_key_projection_name(name, ""))
      return {100, "the tensor " + tensor.name};
    projection = projection || name == "proj_k";
    query = query || name == "to_q.weight";
  }
  if (projection && query) return {100, "the tensors proj_k and to_q.weight: an attention on its own"};
  return {0,
          "[linformer.]net.layers.*.0.fn.proj_k, net.blocks.*.f.net.fn.proj_k, net.*.fn.fn.proj_k, layers.*.1.proj_k "
          "or proj_k (not there)"};
}

void Lucidrains::check_tensors_outside_prefix(const Checkpoint& checkpoint, const std::string& prefix) const {
  reject_unconfigured_own_model(checkpoint, prefix, "linformer", heads_setting);
}

void Lucidrains::convert(Conversion& conversion) const {
  const Settings settings = user_and_checkpoint_settings(conversion);
  const std::optional<OwnModel> own = own_model_from_settings(settings, conversion.checkpoint);
  TensorTable tensors(conversion.checkpoint,
                      own ? own_model_name_mapping(*own, model_prefix, "token_emb.weight", "pos_emb.weight") : same);
  if (own) {
    convert_own(conversion, tensors, settings, *own);
  } else if (tensors.find("proj_k") != nullptr) {
    convert_attention(conversion, tensors, settings);
  } else {
    convert_layers(conversion, tensors, settings);
  }
  const EncoderDescription& encoder = conversion.description.encoder;
  conversion.report.add_fact("d_model", std::to_string(encoder.d_model), "shapes of the tensors");
  conversion.report.add_fact("longest text (N)", std::to_string(encoder.max_tokens),
                             own ? "rows of proj_k and of the positions" : "rows of proj_k");
  check_agreement(settings, "dim", encoder.d_model, "channels");
  check_agreement(settings, "seq_len", encoder.max_tokens, "positions");
  if (own) return reject_unused_tensors(tensors, model_name, conversion.report);
  tensors.report_or_reject_unused({}, model_name, conversion.report);
}

}  // namespace linformer::convert
