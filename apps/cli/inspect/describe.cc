#include "inspect/describe.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "command_line/display.h"
#include "input_files/model_uses.h"
#include "inspect/describe_encoder.h"
#include "models/heads.h"
#include "models/label_names.h"

namespace linformer::cli {
namespace {

constexpr int long_text_width = 1000;  // Wide enough to show the description of a model uncut.

std::string pooling_text(Pooling pooling) {
  return pooling == Pooling::none ? "none (each token)" : underscores_to_spaces(name_of(pooling));
}

const char* tokenizer_name(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::none:
      return "none";
    case TokenizerKind::byte_bpe:
      return "byte-level BPE";
    case TokenizerKind::wordpiece:
      return "WordPiece";
    case TokenizerKind::unigram:
      return "unigram";
    case TokenizerKind::bpe:
      return "BPE of characters";
  }
  return "?";
}

uint64_t elements(const TensorInfo& tensor) {
  uint64_t product = 1;
  // The product can't overflow, because loading the model has checked it.
  for (const uint64_t extent : tensor.shape) product *= extent;
  return product;
}

std::string weights_text(const Model& model) {
  std::map<ElementType, uint64_t> counts;
  uint64_t total = 0;
  const int tensors = model.info().tensors;
  for (int i = 0; i < tensors; ++i) {
    const TensorInfo tensor = model.tensor(i);
    counts[tensor.type] += elements(tensor);
    total += elements(tensor);
  }
  std::string text = grouped(total) + " in " + std::to_string(tensors) + " tensors";
  for (const auto& [type, count] : counts) text += ", " + grouped(count) + " " + name_of(type);
  return text;
}

bool reads_vectors(const Model& model) { return model.info().vector_width > 0; }

std::string tokenizer_text(const Model& model) {
  const TokenizerInfo tokenizer = model.tokenizer();
  const auto count = [](int64_t number) { return grouped(static_cast<uint64_t>(number)); };
  if (reads_vectors(model)) return "none: the model reads vectors (classify and encode: --vectors FILE.npy)";
  if (tokenizer.kind == TokenizerKind::none) return "none (linformer-convert --tokenizer DIR adds one)";
  std::string text = tokenizer_name(tokenizer.kind);
  if (tokenizer.tokens > 0) text += ", " + count(tokenizer.tokens) + " tokens";
  if (tokenizer.merges > 0) text += ", " + count(tokenizer.merges) + " merges";
  if (tokenizer.added_tokens > 0) text += ", " + count(tokenizer.added_tokens) + " added";
  if (tokenizer.lowercase) text += ", lower case";
  if (tokenizer.strip_accents) text += ", without accents";
  if (tokenizer.mask_id >= 0) text += ", mask id " + std::to_string(tokenizer.mask_id);
  return text;
}

std::string masked_lm_text(const Model& model) {
  const MaskedLmInfo head = model.masked_lm();
  if (!head.present) return "no head";
  return std::string("head") + (head.tied ? ", tied to the embedding" : "") +
         (head.dense ? "" : ", straight from the rows") + (model.info().has_decoder ? ", on the decoder" : "");
}

// Returns the description of a head's outputs, such as "3 classes (bad, so-so, good), one of them (softmax)".
std::string outputs_text(const HeadInfo& head, const std::vector<std::string>& labels) {
  const std::string names = head.has_labels ? list_of_labels(labels) : "not named";
  const std::string count = std::to_string(labels.size());
  switch (head.kind) {
    case HeadKind::single_label:
      return count + " classes (" + names + "), one of them (softmax)";
    case HeadKind::multi_label:
      return count + (labels.size() == 1 ? " class (" : " classes (") + names + "), any of them (sigmoid of each)";
    case HeadKind::score:
      return "a score (" + names + "), " +
             (std::string_view(head.score_activation) == "none" ? "the output as it is" : head.score_activation);
    case HeadKind::regression:
      return count + (labels.size() == 1 ? " value (" : " values (") + names + "), as they are";
  }
  return count;
}

std::string head_text(const Model& model, int index) {
  const HeadInfo head = model.head(index);
  return excerpt(head.name, 40) + ": " + outputs_text(head, class_labels(model, index)) + ", pooling " +
         pooling_text(head.pooling) + (head.compares_two ? ", compares two texts" : "") +
         (head.spans ? ", begin and end of an answer" : "") + (head.norm ? ", norm" : "") +
         (head.dense ? ", linear and " + std::string(head.activation) : "") +
         (model.info().has_decoder ? ", on the decoder" : "");
}

std::string embedding_text(const Model& model) {
  const SentenceEmbeddingInfo embedding = model.sentence_embedding();
  if (!embedding.present && reads_vectors(model)) return "not said (encode --vectors FILE.npy --what pooled)";
  if (!embedding.present) return "not said (embed --pooling chooses)";
  std::string text = "pooling " + pooling_text(embedding.pooling);
  if (embedding.linear_width > 0) {
    text += ", linear to " + std::to_string(embedding.linear_width);
    if (std::string_view(embedding.activation) != "none") text += ", " + std::string(embedding.activation);
  }
  if (embedding.norm) text += ", norm";
  return text + (embedding.normalize ? ", divided by its length" : "");
}

// Returns the list of prompts, such as `query ("query: "), passage ("passage: "), the default`.
std::string prompts_text(const Model& model) {
  const SentenceEmbeddingInfo embedding = model.sentence_embedding();
  std::string text;
  for (int i = 0; i < embedding.prompts; ++i) {
    const PromptInfo prompt = model.prompt(i);
    // excerpt() removes white space at the end, but it is part of a prompt.
    const char* space = std::string_view(prompt.text).ends_with(' ') ? " " : "";
    text += (i == 0 ? "" : ", ") + excerpt(prompt.name, 40) + " (\"" + excerpt(prompt.text, 60) + space + "\")";
    if (i == embedding.default_prompt) text += ", the default";
  }
  return text + (embedding.excludes_prompt ? "; left out of the vector" : "");
}

}  // namespace

std::string describe_text(const Model& model, const std::string& path, const Plan* planned) {
  const ModelInfo info = model.info();
  Table table({"", ""}, {false, false});
  const auto line = [&](const std::string& name, const std::string& value) {
    table.add({name, excerpt(value, long_text_width)});
  };
  line("file", path);
  line("size", byte_size(model.file_bytes()) + " (" + grouped(model.file_bytes()) + " bytes)");
  line("producer", excerpt(info.producer, text_width));
  line("dialect", excerpt(info.dialect, text_width));
  line("parameters", weights_text(model));
  if (planned != nullptr) {
    line("computed in", compute_text(*planned));
    line("precision", planned->precision);
  }
  for (const auto& [name, value] : encoder_lines({model, Part::encoder})) line(name, value);
  if (info.has_decoder) {
    for (const auto& [name, value] : encoder_lines({model, Part::decoder})) line("decoder " + name, value);
  }
  line("masked-LM", masked_lm_text(model));
  for (int i = 0; i < info.heads; ++i) line("head " + std::to_string(i), head_text(model, i));
  if (info.heads == 0) line("heads", "no classification head");
  line("text vector", embedding_text(model));
  if (model.sentence_embedding().prompts > 0) line("prompts", prompts_text(model));
  line("tokenizer", tokenizer_text(model));
  const char* name = "to try";
  for (const files::ModelUse& use : files::commands_that_run(model)) {
    line(name, files::command_line(use, path));
    name = "";
  }
  return table.text();
}

nlohmann::ordered_json describe_json(const Model& model, const std::string& path, const Plan* planned) {
  const ModelInfo info = model.info();
  uint64_t parameters = 0;
  for (int i = 0; i < info.tensors; ++i) parameters += elements(model.tensor(i));

  nlohmann::ordered_json json;
  json["file"] = path;
  json["file_bytes"] = model.file_bytes();
  json["producer"] = info.producer;
  json["dialect"] = info.dialect;
  json["parameters"] = parameters;
  json["tensor_count"] = info.tensors;
  json["compute"] = nullptr;
  json["attention_compute"] = nullptr;
  json["other_compute"] = nullptr;  // True if some weights are multiplied in another type.
  json["precision"] = nullptr;      // The sentence that gives the reason.
  if (planned != nullptr) {
    json["compute"] = name_of(planned->compute);
    json["attention_compute"] = name_of(planned->attention_compute);
    json["other_compute"] = planned->other_compute;
    json["precision"] = planned->precision;
  }
  add_encoder_json({model, Part::encoder}, &json);
  json["decoder"] = nullptr;
  if (info.has_decoder) add_encoder_json({model, Part::decoder}, &json["decoder"]);
  json["masked_lm"] = info.has_masked_lm;
  auto& heads = json["heads"] = nlohmann::ordered_json::array();
  for (int i = 0; i < info.heads; ++i) {
    const HeadInfo head = model.head(i);
    heads.push_back({{"name", head.name},
                     {"pooling", pooling_text(head.pooling)},
                     {"compares_two_texts", head.compares_two},
                     {"each_token", head.each_token},
                     {"spans", head.spans},
                     {"kind", name_of(head.kind)},
                     {"score_activation", nullptr},
                     {"labels", class_labels(model, i)}});
    if (head.kind == HeadKind::score) heads.back()["score_activation"] = head.score_activation;
  }
  json["embedding"] = nullptr;
  if (const SentenceEmbeddingInfo embedding = model.sentence_embedding(); embedding.present) {
    json["embedding"] = {{"pooling", pooling_text(embedding.pooling)}, {"normalize", embedding.normalize}};
    json["embedding"]["linear"] = nullptr;
    if (embedding.linear_width > 0) json["embedding"]["linear"] = embedding.linear_width;
    auto& prompts = json["embedding"]["prompts"] = nlohmann::ordered_json::array();
    for (int i = 0; i < embedding.prompts; ++i) {
      const PromptInfo prompt = model.prompt(i);
      prompts.push_back({{"name", prompt.name}, {"text", prompt.text}});
    }
    json["embedding"]["default_prompt"] = nullptr;
    if (embedding.default_prompt >= 0)
      json["embedding"]["default_prompt"] = model.prompt(embedding.default_prompt).name;
    json["embedding"]["excludes_prompt"] = embedding.excludes_prompt;
  }
  const TokenizerInfo tokenizer = model.tokenizer();
  if (tokenizer.kind == TokenizerKind::none) {
    json["tokenizer"] = nullptr;
  } else {
    json["tokenizer"] = {{"kind", tokenizer_name(tokenizer.kind)},
                         {"tokens", tokenizer.tokens},
                         {"merges", tokenizer.merges},
                         {"added_tokens", tokenizer.added_tokens},
                         {"single_template", tokenizer.single_template},
                         {"pair_template", tokenizer.pair_template},
                         {"pair_types", tokenizer.pair_types},
                         {"mask_id", tokenizer.mask_id}};
  }
  auto& commands = json["commands"] = nlohmann::ordered_json::array();
  for (const files::ModelUse& use : files::commands_that_run(model)) {
    commands.push_back({{"command", use.command}, {"line", files::command_line(use, path)}});
  }
  return json;
}

}  // namespace linformer::cli
