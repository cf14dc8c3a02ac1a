// Lowers the outputs that read the encoder's rows: classification heads, sentence embeddings, masked-LM logits.
#include "base/description.h"
#include "program/lower.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The extent of the stages of a head that scores each packed row.
constexpr int64_t each_row = 0;

}  // namespace

ops::Pool& Lowering::pool(Pooling pooling, const View& out) {
  const View all = rows(BufferId::rows, program_.output_width);
  return add(
      ops::Pool{out, all, has_no_layers() ? all : first_rows_view(BufferId::rows, program_.output_width), pooling});
}

void Lowering::classification_head(const ClassificationHead& head, HeadSections* sections) {
  const int32_t begin = stage_count();
  const bool token_level = head.pooling == Pooling::none;
  sections->each_row = token_level;
  sections->first_rows = head.pooling == Pooling::first_token;
  sections->pairs = head.pairing != Pairing::none;
  sections->classes = outputs(head.output);
  add_stage(Domain::scored).extent = token_level ? each_row : sections->pairs ? 2 : 1;
  View x = rows(BufferId::rows, program_.output_width);
  if (!token_level) {
    x = scored_view(BufferId::pooled, program_.output_width);
    pool(head.pooling, x);
  }
  if (sections->pairs) {
    const View paired = scored_view(BufferId::paired, 4 * program_.output_width);
    add(ops::Pair{paired, x});
    x = paired;
  }
  if (head.norm.present() && !head.norm_after_dense) {
    const View normalized = scored_view(BufferId::paired, x.cols);
    norm(head.norm, x, normalized);
    x = normalized;
  }
  if (head.dense.present()) {
    const View dense = scored_view(BufferId::head, outputs(head.dense));
    gemm(x, head.dense, dense, head.activation);
    if (head.norm.present() && head.norm_after_dense) norm(head.norm, dense, dense);
    x = dense;
  }
  const View out = output_view(sections->classes);
  if (token_level) {
    const View logits = scored_view(BufferId::logits, sections->classes);
    gemm(x, head.output, logits);
    add_stage(Domain::sequences);
    add(ops::Expand{out, logits, View()});
  } else {
    gemm(x, head.output, out);
  }
  ops::Probabilities probabilities{out, out, head.kind == HeadKind::single_label};
  if (head.kind == HeadKind::multi_label) probabilities.activation = Activation::sigmoid;
  if (head.kind == HeadKind::score) probabilities.activation = head.score_activation;
  add(probabilities);
  sections->stages = section_from(begin);
}

void Lowering::sentence_embedding(const SentenceEmbedding& embedding) {
  const int32_t begin = stage_count();
  const bool has_dense = embedding.dense.present();
  program_.embeds_first_rows = embedding.pooling == Pooling::first_token;
  program_.embedding_width = has_dense ? outputs(embedding.dense) : program_.output_width;
  add_stage(Domain::scored).extent = 1;
  const View out = output_view(program_.embedding_width);
  pool(embedding.pooling, has_dense ? scored_view(BufferId::pooled, program_.output_width) : out);
  if (has_dense) gemm(scored_view(BufferId::pooled, program_.output_width), embedding.dense, out, embedding.activation);
  norm_in_place(embedding.norm, out);
  if (embedding.normalize) add(ops::NormalizeLength{out});
  program_.sentence_embedding = section_from(begin);
}

void Lowering::masked_lm(const MaskedLmHead& mlm) {
  const int32_t begin = stage_count();
  program_.vocabulary = encoder_.vocab_size;
  add_stage(Domain::positions);
  View x = block(BufferId::query, program_.output_width);
  add(ops::Select{x, rows(BufferId::rows, program_.output_width)});
  if (mlm.dense.present()) {
    const View dense = block(BufferId::ffn, outputs(mlm.dense));
    gemm(x, mlm.dense, dense, mlm.activation);
    norm_in_place(mlm.norm, dense);
    x = dense;
  }
  gemm(x, mlm.output, output_view(program_.vocabulary));
  program_.masked_lm = section_from(begin);
}

Status Lowering::lower_heads() {
  if (!program_.heads.try_resize(description_.heads.size())) {
    return Status::error(Code::out_of_memory, "no memory for the program of a model with %zu heads",
                         description_.heads.size());
  }
  for (size_t i = 0; i < description_.heads.size(); ++i) {
    classification_head(description_.heads[i], &program_.heads[i]);
  }
  if (description_.embedding.present) sentence_embedding(description_.embedding);
  if (description_.mlm.present()) masked_lm(description_.mlm);
  return {};
}

}  // namespace LINFORMER_NAMESPACE
