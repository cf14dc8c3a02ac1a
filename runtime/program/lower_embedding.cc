// Lowers the embedding, which takes tokens or vectors, positions and token types and computes the rows that the first
// layer reads. Source: fairseq's TransformerEncoder, BertEmbeddings, tatp22/linformer-pytorch, vit-pytorch.
#include "base/description.h"
#include "program/lower.h"

namespace LINFORMER_NAMESPACE {

// Adds the ops that copy the caller's vectors to `out`. If there is a linear layer, they go through a block of rows.
void Lowering::read_vectors(const VectorInput& vectors, const View& out) {
  const bool has_linear = vectors.linear.present();
  const View read = has_linear ? block(BufferId::query, vectors.width) : out;
  add(ops::ReadVectors{read});
  norm_in_place(vectors.norm_in, read);
  if (has_linear) {
    gemm(read, vectors.linear, out);
    norm_in_place(vectors.norm_out, out);
  }
}

void Lowering::add_positions(const View& out) {
  const EmbeddingDescription& embedding = encoder_.embedding;
  if (embedding.position_kind == PositionKind::learned) {
    add(ops::AddPosition{out, weight(embedding.positions)});
  } else if (embedding.position_kind != PositionKind::none) {
    SinusoidalTable& table = program_.sinusoidal;
    const int64_t tokens = program_.extents.tokens;
    table.interleaved = embedding.position_kind == PositionKind::sinusoidal_interleaved;
    table.base = embedding.position_base;
    table.frequencies = embedding.positions;
    table.first = embedding.position_offset;
    table.width = out.cols;
    table.rows = tokens;
    if (embedding.positions_count_non_pad) {
      table.pad_position = embedding.pad_position;
      const int64_t row = table.pad_position - table.first;
      table.pad_row = row >= 0 && row < tokens ? row : table.rows++;
    }
    View view = buffer_view(Place::table, BufferId::position_table, table.width, 0);
    view.ld = table.width;
    add(ops::AddPosition{out, view});
  }
  if (embedding.token_types != absent) add(ops::AddType{out, weight(embedding.token_types)});
}

Status Lowering::lower_embedding() {
  const EmbeddingDescription& embedding = encoder_.embedding;
  const int64_t d = encoder_.d_model;
  if (has_no_layers()) {
    add_hidden_output(&program_.embedding_hidden, d, 1);
    return {};
  }
  const int32_t begin = stage_count();
  add_stage(Domain::row_blocks);
  const bool tokens = embedding.tokens != absent, has_factor = embedding.factor.present();
  int64_t width = embedding.vectors.width;
  if (tokens) width = static_cast<int64_t>(tensor(embedding.tokens).shape[1]);
  if (embedding.vectors.linear.present()) width = outputs(embedding.vectors.linear);

  const View x = rows(BufferId::rows, d);
  const View made = has_factor ? block(BufferId::ffn, width) : rows(BufferId::rows, width);
  if (tokens) {
    add(ops::Gather{made, weight(embedding.tokens), embedding.scale});
  } else {
    read_vectors(embedding.vectors, made);
    if (embedding.prefix != absent) add(ops::PutPrefix{made, weight(embedding.prefix)});
  }
  add_positions(made);
  if (embedding.norm.present() && embedding.norm_before_factor) norm(embedding.norm, made, made);
  if (has_factor) gemm(made, embedding.factor, x);
  const auto transform = [&] {
    const View transformed = block(BufferId::query, d);
    gemm(x, embedding.transform, transformed);
    add(ops::Copy{x, transformed});
  };
  if (embedding.transform.present() && embedding.transform_before_norm) transform();
  if (embedding.norm.present() && !embedding.norm_before_factor) norm(embedding.norm, x, x);
  if (embedding.transform.present() && !embedding.transform_before_norm) transform();
  if (embedding.zero_pad_rows) add(ops::Zero{x, ZeroRows::pads});
  if (reversible()) add(ops::Copy{rows(BufferId::second_rows, d), x});
  const Norm& first_norm = encoder_.layers[0].attention_norm;
  if (pre_norm() && first_norm.present()) norm(first_norm, x, rows(BufferId::normalized, d));
  program_.embedding = section_from(begin);
  add_hidden_output(&program_.embedding_hidden, d, reversible() ? 2 : 1);
  return {};
}

}  // namespace LINFORMER_NAMESPACE
