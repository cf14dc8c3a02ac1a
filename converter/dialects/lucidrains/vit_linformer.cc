#include "converter/dialects/lucidrains/vit_linformer.h"

#include <algorithm>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/head_kind.h"
#include "converter/dialects/lucidrains/layers.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using namespace lucidrains;

constexpr const char* layers_prefix = "transformer.";

std::string same(std::string name) { return name; }

// Reads the embedding of patches: a norm, a Linear and a norm. Before 2023-02-10 the code had only the Linear, at the
// index that the first norm has since then.
void add_patch_embedding(Conversion& conversion, TensorTable& tensors) {
  EncoderDescription& encoder = conversion.description.encoder;
  VectorInput& vectors = encoder.embedding.vectors;
  const bool norms = tensors.find("to_patch_embedding.2.weight") != nullptr;
  const std::string linear = norms ? "to_patch_embedding.2" : "to_patch_embedding.1";
  const Tensor& weight = tensors.need(linear + ".weight");
  encoder.d_model = dimension(weight, 0);
  vectors.width = dimension(weight, 1);
  const Size d_model{encoder.d_model, "dim"}, patch{vectors.width, "values of a patch"};
  if (norms)
    vectors.norm_in = read_norm(conversion, tensors, "embedding.vectors.norm_in", "to_patch_embedding.1", patch);
  vectors.linear = read_linear(conversion, tensors, "embedding.vectors.linear", linear, d_model, patch);
  if (norms)
    vectors.norm_out = read_norm(conversion, tensors, "embedding.vectors.norm_out", "to_patch_embedding.3", d_model);
  conversion.report.add_fact("values of a patch", std::to_string(vectors.width), "shape of " + weight.name);
  conversion.report.add_fact("norms around the patches' linear", norms ? "yes" : "none: code before 2023-02-10",
                             "names of the tensors");
}

void add_positions(Conversion& conversion, TensorTable& tensors, const Tensor& positions) {
  EmbeddingDescription& embedding = conversion.description.encoder.embedding;
  const Size d_model{conversion.description.encoder.d_model, "dim"};
  embedding.position_kind = PositionKind::learned;
  embedding.positions =
      conversion.weights.table("embedding.positions", positions, {positions.shape[0], "patches + 1"}, d_model);
  embedding.prefix = conversion.weights.floats("embedding.prefix", squeezed(tensors.need("cls_token"), 0),
                                               {{1, "one class token"}, d_model});
}

Pooling pooling_of(const Settings& settings, Report& report) {
  const std::optional<Setting<std::string>> pool = settings.text("pool");
  if (!pool) {
    missing_setting("what the head reads (the class token's row, or the mean of all rows)",
                    config_option(R"({"pool": "cls"})") + " or " + config_option(R"({"pool": "mean"})"));
  }
  if (pool->value != "cls" && pool->value != "mean") {
    fail("the setting pool is ", quote(pool->value), " (", pool->source, "); cls and mean are possible");
  }
  report.add_fact("pooling", pool->value, "pool, " + pool->source);
  return pool->value == "cls" ? Pooling::first_token : Pooling::mean;
}

void add_head(Conversion& conversion, TensorTable& tensors, const Settings& settings) {
  const Size d_model{conversion.description.encoder.d_model, "dim"};
  ClassificationHead& head = conversion.description.heads.emplace_back();
  head.name = "mlp_head";
  head.pooling = pooling_of(settings, conversion.report);
  head.norm = read_norm(conversion, tensors, "heads[mlp_head].norm", "mlp_head.0", d_model);
  head.output = read_linear(conversion, tensors, "heads[mlp_head].output", "mlp_head.1", {0, "num_classes"}, d_model);
  const Tensor& output = tensors.need("mlp_head.1.weight");
  check_agreement(settings, "num_classes", dimension(output, 0), "classes");
  const uint64_t outputs = output.shape[0];
  conversion.report.add_fact("head mlp_head", std::to_string(outputs) + (outputs == 1 ? " output" : " outputs"),
                             "shape of " + output.name);
  set_head_kind(conversion, settings, usual_head_kind, &head);
}

}  // namespace

DialectFacts VitLinformer::facts() const {
  return {"vit-pytorch's efficient ViT around lucidrains' Linformer",
          "https://github.com/lucidrains/vit-pytorch",
          {{R"({"heads": 8})", "models with as many key heads as heads"}, {R"({"pool": "cls"})", "always; or mean"}}};
}

Recognition VitLinformer::recognise(const Checkpoint& checkpoint) const {
  const size_t prefix = wrapper_prefix_length(checkpoint);
  bool patches = false, layers = false;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = tensor.name.substr(prefix);
    patches = patches || matches(name, "to_patch_embedding.**");
    layers = layers || is_key_projection_name(name, layers_prefix);
  }
  if (patches && layers) return {100, "the tensors to_patch_embedding.* and transformer.net.**.proj_k"};
  return {0, "to_patch_embedding.* with transformer.net.**.proj_k (not there)"};
}

void VitLinformer::convert(Conversion& conversion) const {
  TensorTable tensors(conversion.checkpoint, same);
  const Settings settings = user_and_checkpoint_settings(conversion);
  EncoderDescription& encoder = conversion.description.encoder;
  Report& report = conversion.report;
  const std::optional<Layout> layout = layout_of(tensors, layers_prefix);
  if (!layout) fail("there are no layers called ", layers_prefix, "net.*: the checkpoint is incomplete");
  const Tensor positions = squeezed(tensors.need("pos_embedding"), 0);
  encoder.max_tokens = std::min(dimension(positions, 0), projection_input_length(tensors, layers_prefix, *layout));
  add_patch_embedding(conversion, tensors);
  add_positions(conversion, tensors, positions);
  add_layers(conversion, tensors, settings, layers_prefix, *layout);
  add_head(conversion, tensors, settings);
  check_agreement(settings, "dim", encoder.d_model, "channels");
  report.add_fact("d_model", std::to_string(encoder.d_model), "shapes of the tensors");
  report.add_fact("longest input (N)", std::to_string(encoder.max_tokens) + ", of which one is the class token",
                  "rows of " + positions.name + " and of proj_k");
  report.notes.push_back(
      "The model takes patches, not images: row by row of the image, each patch as its pixels' rows, columns and "
      "channels, in this order.");
  tensors.report_or_reject_unused({}, "a ViT with Linformer layers", report);
}

}  // namespace linformer::convert
