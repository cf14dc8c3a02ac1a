#include "golden/family_case.h"

#include <nlohmann/json.hpp>

#include "base/description.h"

namespace linformer_test {
namespace {

constexpr int64_t patch = 4;  // Both cases of vit_pytorch_linformer have this patch size.

const NpyArray* find(const FamilyCase& c, const std::string& key) {
  const auto found = c.arrays.find(key);
  return found == c.arrays.end() ? nullptr : &found->second;
}

// Splits an array of the shape [texts, n, d] into one vector for each text.
std::vector<std::vector<float>> texts_of(const NpyArray& array) {
  const std::vector<float> values = array.values<float>();
  const size_t each = values.size() / static_cast<size_t>(array.shape[0]);
  std::vector<std::vector<float>> texts;
  for (auto at = values.begin(); at != values.end(); at += static_cast<std::ptrdiff_t>(each)) {
    texts.emplace_back(at, at + static_cast<std::ptrdiff_t>(each));
  }
  return texts;
}

std::vector<std::vector<uint8_t>> masks_of(const NpyArray& array) {
  const std::vector<uint8_t> values = array.values<uint8_t>();
  std::vector<std::vector<uint8_t>> masks;
  for (int64_t t = 0; t < array.shape[0]; ++t) {
    masks.emplace_back(values.begin() + t * array.shape[1], values.begin() + (t + 1) * array.shape[1]);
  }
  return masks;
}

// Turns an image [c, h, w] into patches [patches, patch * patch * c], as einops does by "b c (h p1) (w p2) -> b (h w)
// (p1 p2 c)".
std::vector<float> patches_of(const std::vector<float>& image, const std::vector<int64_t>& shape) {
  const int64_t channels = shape[1], height = shape[2], width = shape[3];
  std::vector<float> patches;
  for (int64_t y = 0; y < height; y += patch) {
    for (int64_t x = 0; x < width; x += patch) {
      for (int64_t i = 0; i < patch * patch * channels; ++i) {
        const int64_t channel = i % channels, row = y + i / channels / patch, column = x + i / channels % patch;
        patches.push_back(image[static_cast<size_t>((channel * height + row) * width + column)]);
      }
    }
  }
  return patches;
}

}  // namespace

FamilyCase read_case(const std::filesystem::path& folder) {
  FamilyCase c;
  c.folder = folder;
  c.name = folder.filename().string();
  c.family = folder.parent_path().filename().string();
  c.arrays = read_npz((folder / "io.npz").string());
  const nlohmann::json meta = nlohmann::json::parse(read_file((folder / "meta.json").string()));
  nlohmann::json config = meta.at("config");
  if (c.family == "vit_pytorch_linformer") {
    // The arguments of both classes are merged into one object. They don't conflict.
    nlohmann::json flat = config.at("linformer");
    flat.update(config.at("vit"));
    config = flat;
  }
  // Adds arguments that had their default values, because a checkpoint doesn't show them.
  if (c.family == "tatp22") {
    const nlohmann::json defaults{
        {"activation", "gelu"}, {"causal", false}, {"full_attention", false}, {"decoder_mode", false}};
    for (const auto& [name, value] : defaults.items()) {
      if (!config.contains(name)) config[name] = value;
    }
  }
  c.config = config.dump();
  for (const auto& [key, array] : c.arrays) {
    const std::string run = key.substr(0, key.find('.'));
    if (run != "ext" && (c.runs.empty() || c.runs.back() != run)) c.runs.push_back(run);
  }
  return c;
}

int64_t max_text_tokens(const linformer::EncoderDescription& encoder) {
  return encoder.max_tokens - (encoder.embedding.prefix_token >= 0 ? 1 : 0);
}

FamilyInputs read_inputs(const FamilyCase& c, const std::string& run, const std::string& tokens, int64_t max_tokens) {
  FamilyInputs made;
  const bool padder = run.starts_with("padder");
  if (const NpyArray* array = find(c, run + "." + tokens)) {
    const std::vector<int64_t> ids = array->values<int64_t>();
    for (int64_t t = 0; t < array->shape[0]; ++t) {
      made.tokens.emplace_back(ids.begin() + t * array->shape[1], ids.begin() + (t + 1) * array->shape[1]);
    }
    if (padder) made.shown = array->shape[1];
    for (std::vector<int32_t>& text : made.tokens) {
      if (padder || static_cast<int64_t>(text.size()) > max_tokens) text.resize(static_cast<size_t>(max_tokens), 0);
    }
  }
  if (const NpyArray* array = find(c, run + ".tokens1"); array != nullptr && tokens == "tokens0") {
    // The two texts of a pair are consecutive inputs.
    const FamilyInputs second = read_inputs(c, run, "tokens1", max_tokens);
    std::vector<std::vector<int32_t>> both;
    for (size_t i = 0; i < made.tokens.size(); ++i) {
      both.push_back(made.tokens[i]);
      both.push_back(second.tokens[i]);
    }
    made.tokens = both;
  }
  if (const NpyArray* array = find(c, run + ".x")) {
    made.vectors = texts_of(*array);
    if (padder) made.shown = array->shape[1];
    for (std::vector<float>& text : made.vectors) {
      if (padder) text.resize(static_cast<size_t>(max_tokens * array->shape[2]), 0.f);
    }
  }
  if (const NpyArray* array = find(c, run + ".image")) {
    for (const std::vector<float>& image : texts_of(*array)) {
      made.vectors.push_back(patches_of(image, array->shape));
    }
  }
  for (const char* name : {".context", ".embeddings"}) {
    if (const NpyArray* array = find(c, run + name)) made.encoder_states = texts_of(*array);
  }
  if (const NpyArray* array = find(c, run + ".input_mask")) made.masks = masks_of(*array);
  if (const NpyArray* array = find(c, run + ".embeddings_mask")) made.query_masks = masks_of(*array);
  if (const NpyArray* array = find(c, run + ".types")) made.types = masks_of(*array);
  const size_t texts = std::max(made.tokens.size(), made.vectors.size());
  for (size_t t = 0; t < texts; ++t) {
    linformer::Input input;
    if (!made.tokens.empty()) input.tokens = made.tokens[t];
    if (!made.vectors.empty()) input.vectors = made.vectors[t];
    if (!made.encoder_states.empty()) input.encoder_states = made.encoder_states[t];
    if (!made.masks.empty()) input.mask = made.masks[t];
    if (!made.query_masks.empty()) input.query_mask = made.query_masks[t];
    if (!made.types.empty()) input.types = made.types[t];
    made.inputs.push_back(input);
  }
  return made;
}

}  // namespace linformer_test
