#include "converter/dialects/tatp22/tatp22.h"

#include "base/description.h"
#include "converter/dialects/tatp22/stack.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using namespace tatp22;

// Returns the name without the prefix "net.", below which a Padder keeps the model that it wraps.
std::string canonical_name(std::string name) { return name.starts_with("net.") ? name.substr(4) : name; }

void read_logits(Stack& stack, ModelDescription* model, Report& report) {
  const std::optional<Linear> output = stack.logits();
  if (output) model->mlm.output = *output;
  report.add_fact("output", output ? "a number for each token of the vocabulary" : "the rows themselves",
                  std::string("to_logits is ") + (output ? "there" : "absent"));
}

void note_lengths(Report& report) {
  report.notes.push_back(
      "linformer-pytorch takes texts of exactly N tokens. Its Padder fills shorter ones with token 0 (or zero vectors) "
      "and masks nothing: for the same numbers give the text filled up in this way.");
}

}  // namespace

DialectFacts Tatp22::facts() const {
  return {"Linformer, LinformerLM and LinformerEncDec of the package linformer-pytorch",
          "https://github.com/tatp22/linformer-pytorch",
          {{R"({"activation": "gelu", "full_attention": false, "causal": false, "decoder_mode": false})", "always"},
           {R"({"input_size": 512})", "full attention, and compression by convolution"},
           {R"({"activation": "gelu", "enc_full_attention": false, "dec_full_attention": false})",
            "LinformerEncDec; its sizes are enc_input_size and dec_input_size"}}};
}

Recognition Tatp22::recognise(const Checkpoint& checkpoint) const {
  const size_t prefix = wrapper_prefix_length(checkpoint);
  bool found = false, halves[2] = {false, false};
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string canonical = canonical_name(tensor.name.substr(prefix));
    std::string_view name = canonical;
    const auto strip = [&name](std::string_view part) {
      const bool there = name.starts_with(part);
      if (there) name.remove_prefix(part.size());
      return there;
    };
    const bool encoder = strip("encoder."), decoder = !encoder && strip("decoder.");
    halves[0] = halves[0] || encoder;
    halves[1] = halves[1] || decoder;
    strip("linformer.");
    strip("fn.");
    found = found || matches(name, "seq.*.fn.to_q.*.weight") || matches(name, "seq.*.fn.fn.to_q.*.weight");
  }
  if (!found) return {0, "seq.*.fn.to_q.*.weight (not there)"};
  // With only an encoder or only a decoder this is not a LinformerEncDec, but a model in an attribute of this name.
  if (halves[0] != halves[1])
    return {0, "seq.*.fn.to_q.*.weight (there, in one of encoder and decoder only)"};
  return {100, "the tensors seq.*.fn.to_q.*.weight"};
}

void Tatp22::check_tensors_outside_prefix(const Checkpoint& checkpoint, const std::string& prefix) const {
  reject_unconfigured_own_model(
      checkpoint, prefix, "linformer-pytorch",
      R"("activation": "gelu", "full_attention": false, "causal": false, "decoder_mode": false)");
}

void Tatp22::convert(Conversion& conversion) const {
  const Settings settings = user_and_checkpoint_settings(conversion);
  const std::optional<OwnModel> own = own_model_from_settings(settings, conversion.checkpoint);
  TensorTable tensors(
      conversion.checkpoint,
      own ? own_model_name_mapping(*own, "linformer.", token_embedding, own_position_table) : canonical_name);
  ModelDescription& model = conversion.description;
  Report& report = conversion.report;
  std::vector<std::string> unused;
  if (own) {
    Stack stack(conversion, tensors, settings, Part::model, &model.encoder, &*own);
    stack.read();
    add_own_model_head(conversion, tensors, *own);
    reject_unused_tensors(tensors, "a model of linformer-pytorch", report);
    note_lengths(report);
    return;
  }
  if (tensors.any("encoder.**") || tensors.any("decoder.**")) {
    Stack encoder(conversion, tensors, settings, Part::encoder, &model.encoder);
    encoder.read();
    Stack decoder(conversion, tensors, settings, Part::decoder, &model.decoder);
    decoder.read();
    read_logits(decoder, &model, report);
    unused = encoder.unused_name_patterns();
    for (std::string& pattern : decoder.unused_name_patterns()) unused.push_back(std::move(pattern));
  } else {
    Stack stack(conversion, tensors, settings, Part::model, &model.encoder);
    stack.read();
    read_logits(stack, &model, report);
    unused = stack.unused_name_patterns();
  }
  std::vector<NamePattern> patterns;
  for (const std::string& pattern : unused) {
    patterns.push_back({pattern.c_str(), "full attention (a setting) leaves the projections unused"});
  }
  tensors.report_or_reject_unused(patterns, "a model of linformer-pytorch", report);
  note_lengths(report);
}

}  // namespace linformer::convert
