// What a model's users may ask of it.
#include "base/description.h"
#include "io/container.h"
#include "linformer/model.h"

namespace LINFORMER_NAMESPACE {
namespace {

std::string_view view(const String& text) { return {text.c_str(), text.size()}; }

constexpr std::string_view nothing = "";

}  // namespace

ModelInfo Model::info() const {
  const ModelDescription& d = description();
  ModelInfo info;
  info.producer = view(d.producer);
  info.dialect = view(d.dialect);
  info.format = container_version;
  info.max_tokens = d.encoder.max_tokens;
  info.vocabulary = d.encoder.vocab_size;
  if (d.encoder.embedding.tokens == absent) info.vector_width = d.encoder.embedding.vectors.width;
  info.width = d.encoder.d_model;
  info.layers = static_cast<int>(d.encoder.layers.size());
  info.heads = static_cast<int>(d.heads.size());
  info.pad_id = d.encoder.pad_id;
  info.mask_id = d.tokenizer.mask;
  info.tokenizer = d.tokenizer.kind;
  info.has_masked_lm = d.mlm.present();
  info.has_embedding = d.embedding.present;
  info.has_decoder = d.has_decoder();
  return info;
}

HeadInfo Model::head(int head) const {
  HeadInfo info;
  if (head < 0 || static_cast<size_t>(head) >= description().heads.size()) return info;
  const ClassificationHead& h = description().heads[static_cast<size_t>(head)];
  info.name = view(h.name);
  info.kind = h.kind;
  info.classes = static_cast<int64_t>(description().tensors[static_cast<size_t>(h.output.weight)].shape[0]);
  info.has_labels = !h.labels.empty();
  info.compares_two = h.pairing != Pairing::none;
  info.each_token = h.pooling == Pooling::none;
  return info;
}

int Model::find_head(std::string_view name) const {
  for (size_t i = 0; i < description().heads.size(); ++i) {
    if (view(description().heads[i].name) == name) return static_cast<int>(i);
  }
  return -1;
}

std::string_view Model::label(int head, int64_t label) const {
  if (head < 0 || static_cast<size_t>(head) >= description().heads.size() || label < 0) return nothing;
  const Array<String>& labels = description().heads[static_cast<size_t>(head)].labels;
  return static_cast<uint64_t>(label) < labels.size() ? view(labels[static_cast<size_t>(label)]) : nothing;
}

}  // namespace LINFORMER_NAMESPACE
