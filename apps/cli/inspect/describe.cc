#include "inspect/describe.h"

#include <algorithm>
#include <map>

#include "base/description.h"
#include "command_line/display.h"
#include "inspect/describe_encoder.h"
#include "models/heads.h"
#include "models/label_names.h"

namespace linformer::cli {
namespace {

constexpr int text_width = 90;
constexpr int long_text_width = 1000;  // where an excerpt would leave out what the model is

std::string name_of(Pooling pooling) { return pooling == Pooling::none ? "none (each token)" : words_of(pooling); }

const char* name_of(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::none:
      return "none";
    case TokenizerKind::byte_bpe:
      return "byte-level BPE";
    case TokenizerKind::wordpiece:
      return "WordPiece";
    case TokenizerKind::unigram:
      return "unigram";
  }
  return "?";
}

uint64_t elements(const TensorDescription& tensor) {
  uint64_t product = 1;
  for (const uint64_t extent : tensor.shape) product *= extent;  // validated when the model was loaded
  return product;
}

std::string weights_text(const ModelDescription& description) {
  std::map<ElementType, uint64_t> counts;
  uint64_t total = 0;
  for (const TensorDescription& tensor : description.tensors) {
    counts[tensor.type] += elements(tensor);
    total += elements(tensor);
  }
  std::string text = grouped(total) + " in " + std::to_string(description.tensors.size()) + " tensors";
  for (const auto& [type, count] : counts) text += ", " + grouped(count) + " " + linformer::name_of(type);
  return text;
}

bool reads_vectors(const ModelDescription& d) { return d.encoder.embedding.tokens == absent; }

std::string tokenizer_text(const ModelDescription& d) {
  const TokenizerDescription& tokenizer = d.tokenizer;
  if (reads_vectors(d)) return "none: the model reads vectors (classify and encode: --vectors FILE.npy)";
  if (tokenizer.kind == TokenizerKind::none) return "none (linformer-convert --tokenizer DIR adds one)";
  std::string text = name_of(tokenizer.kind);
  if (tokenizer.token_offsets.size() > 1) text += ", " + grouped(tokenizer.token_offsets.size() - 1) + " tokens";
  if (!tokenizer.merges.empty()) text += ", " + grouped(tokenizer.merges.size() / 3) + " merges";
  if (!tokenizer.added_tokens.empty()) text += ", " + grouped(tokenizer.added_tokens.size()) + " added";
  if (tokenizer.lowercase) text += ", lower case";
  if (tokenizer.strip_accents) text += ", without accents";
  if (tokenizer.mask >= 0) text += ", mask id " + std::to_string(tokenizer.mask);
  return text;
}

std::string masked_lm_text(const ModelDescription& d) {
  if (!d.mlm.present()) return "no head";
  const bool tied = d.mlm.output.weight == d.encoder.embedding.tokens ||
                    (d.has_decoder() && d.mlm.output.weight == d.decoder.embedding.tokens);
  return std::string("head") + (tied ? ", tied to the embedding" : "") +
         (d.mlm.dense.present() ? "" : ", straight from the rows") + (d.has_decoder() ? ", on the decoder" : "");
}

// "3 classes (bad, so-so, good), one of them a text"
std::string outputs_text(const ClassificationHead& head, const std::vector<std::string>& labels) {
  const std::string names = head.labels.empty() ? "not named" : list_of_labels(labels);
  const std::string count = std::to_string(labels.size());
  switch (head.kind) {
    case HeadKind::single_label:
      return count + " classes (" + names + "), one of them (softmax)";
    case HeadKind::multi_label:
      return count + (labels.size() == 1 ? " class (" : " classes (") + names + "), any of them (sigmoid of each)";
    case HeadKind::score:
      return "a score (" + names + "), " +
             (head.score_activation == Activation::none ? std::string("the output as it is")
                                                        : std::string(linformer::name_of(head.score_activation)));
    case HeadKind::regression:
      return count + (labels.size() == 1 ? " value (" : " values (") + names + "), as they are";
  }
  return count;
}

std::string head_text(const ModelDescription& d, const ClassificationHead& head,
                      const std::vector<std::string>& labels) {
  return excerpt(head.name, 40) + ": " + outputs_text(head, labels) + ", pooling " + name_of(head.pooling) +
         (head.pairing == Pairing::product_difference ? ", compares two texts" : "") +
         (head.norm.present() ? ", norm" : "") +
         (head.dense.present() ? ", linear and " + std::string(linformer::name_of(head.activation)) : "") +
         (d.has_decoder() ? ", on the decoder" : "");
}

std::string embedding_text(const ModelDescription& d) {
  const SentenceEmbedding& embedding = d.embedding;
  if (!embedding.present && reads_vectors(d)) return "not said (encode --vectors FILE.npy --what pooled)";
  if (!embedding.present) return "not said (embed --pooling chooses)";
  std::string text = "pooling " + std::string(name_of(embedding.pooling));
  if (embedding.dense.present()) {
    text += ", linear to " + std::to_string(outputs_of(d, embedding.dense));
    if (embedding.activation != Activation::none) text += ", " + std::string(linformer::name_of(embedding.activation));
  }
  return text + (embedding.normalize ? ", divided by its length" : "");
}

}  // namespace

std::string describe_text(const Model& model, const std::string& path, const Plan* planned) {
  const ModelDescription& d = model.description();
  Table table({"", ""}, {false, false});
  const auto line = [&](const std::string& name, const std::string& value) {
    table.add({name, excerpt(value, long_text_width)});
  };
  line("file", path);
  line("size", byte_size(model.file_bytes()) + " (" + grouped(model.file_bytes()) + " bytes)");
  line("producer", excerpt(d.producer, text_width));
  line("dialect", excerpt(d.dialect, text_width));
  line("parameters", weights_text(d));
  if (planned != nullptr) {
    line("computed in", compute_text(*planned));
    line("precision", planned->precision);
  }
  for (const auto& [name, value] : encoder_lines(d, d.encoder)) line(name, value);
  if (d.has_decoder()) {
    for (const auto& [name, value] : encoder_lines(d, d.decoder)) line("decoder " + name, value);
  }
  line("masked-LM", masked_lm_text(d));
  for (size_t i = 0; i < d.heads.size(); ++i) {
    line("head " + std::to_string(i), head_text(d, d.heads[i], class_labels(model, static_cast<int>(i))));
  }
  if (d.heads.empty()) line("heads", "no classification head");
  line("text vector", embedding_text(d));
  line("tokenizer", tokenizer_text(d));
  return table.text();
}

nlohmann::ordered_json describe_json(const Model& model, const std::string& path, const Plan* planned) {
  const ModelDescription& d = model.description();
  uint64_t parameters = 0;
  for (const TensorDescription& tensor : d.tensors) parameters += elements(tensor);

  nlohmann::ordered_json json;
  json["file"] = path;
  json["file_bytes"] = model.file_bytes();
  json["producer"] = d.producer;
  json["dialect"] = d.dialect;
  json["parameters"] = parameters;
  json["tensor_count"] = d.tensors.size();
  json["compute"] = nullptr;
  json["attention_compute"] = nullptr;
  json["other_compute"] = nullptr;  // whether some weights are multiplied in another type
  json["precision"] = nullptr;      // the sentence with the reason
  if (planned != nullptr) {
    json["compute"] = linformer::name_of(planned->compute);
    json["attention_compute"] = linformer::name_of(planned->attention_compute);
    json["other_compute"] = planned->other_compute;
    json["precision"] = planned->precision;
  }
  add_encoder_json(d, d.encoder, &json);
  json["decoder"] = nullptr;
  if (d.has_decoder()) add_encoder_json(d, d.decoder, &json["decoder"]);
  json["masked_lm"] = d.mlm.present();
  auto& heads = json["heads"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < d.heads.size(); ++i) {
    heads.push_back({{"name", d.heads[i].name},
                     {"pooling", name_of(d.heads[i].pooling)},
                     {"compares_two_texts", d.heads[i].pairing != Pairing::none},
                     {"kind", enum_name(d.heads[i].kind)},
                     {"score_activation", nullptr},
                     {"labels", class_labels(model, static_cast<int>(i))}});
    if (d.heads[i].kind == HeadKind::score) heads.back()["score_activation"] = enum_name(d.heads[i].score_activation);
  }
  json["embedding"] = nullptr;
  if (d.embedding.present) {
    json["embedding"] = {{"pooling", name_of(d.embedding.pooling)}, {"normalize", d.embedding.normalize}};
    json["embedding"]["linear"] = nullptr;
    if (d.embedding.dense.present()) json["embedding"]["linear"] = outputs_of(d, d.embedding.dense);
  }
  if (d.tokenizer.kind == TokenizerKind::none) {
    json["tokenizer"] = nullptr;
  } else {
    json["tokenizer"] = {{"kind", name_of(d.tokenizer.kind)},
                         {"tokens", d.tokenizer.token_offsets.empty() ? 0 : d.tokenizer.token_offsets.size() - 1},
                         {"merges", d.tokenizer.merges.size() / 3},
                         {"added_tokens", d.tokenizer.added_tokens.size()},
                         {"single_template", d.tokenizer.single_template},
                         {"pair_template", d.tokenizer.pair_template},
                         {"pair_types", d.tokenizer.pair_types},
                         {"mask_id", d.tokenizer.mask}};
  }
  return json;
}

}  // namespace linformer::cli
