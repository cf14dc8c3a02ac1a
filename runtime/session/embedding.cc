// The rows that the first layer reads: tokens or vectors, positions, token types, and what the dialect does around
// them. Source: fairseq's TransformerEncoder, BertEmbeddings, tatp22/linformer-pytorch, vit-pytorch.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "session/state.h"

namespace linformer {

// Row p: sine and cosine of p times each frequency, in double precision, once for a session.
void Session::State::fill_position_table() {
  if (program.table_rows == 0) return;
  const EmbeddingDescription& embedding = encoder().embedding;
  const int64_t width = program.embedding_width, half = width / 2;
  const bool interleaved = embedding.position_kind == PositionKind::sinusoidal_interleaved;
  const float* frequencies = floats(embedding.positions);
  float* table = buffer(buffer_position_table);
  for (int64_t p = 0; p < program.table_rows; ++p, table += width) {
    for (int64_t j = 0; j < half; ++j) {
      const double frequency = frequencies != nullptr
                                   ? static_cast<double>(frequencies[j])
                                   : std::pow(static_cast<double>(embedding.position_base),
                                              -2. * static_cast<double>(j) / static_cast<double>(width));
      const double angle = static_cast<double>(p) * frequency;
      table[interleaved ? 2 * j : j] = static_cast<float>(std::sin(angle));
      table[interleaved ? 2 * j + 1 : half + j] = static_cast<float>(std::cos(angle));
    }
  }
}

// x[rows, embedding width] from vectors; the prefix's row is the prefix.
Status Session::State::read_vectors(int64_t first, int64_t rows, float* x, int64_t stride, int thread) const {
  const EmbeddingDescription& embedding = encoder().embedding;
  const VectorInput& vectors = embedding.vectors;
  const int64_t width = vectors.width;
  float* read = vectors.linear.present() ? thread_buffer(buffer_query, thread, program.query_stride) : x;
  const int64_t read_stride = vectors.linear.present() ? program.query_stride : stride;
  int64_t text = std::upper_bound(batch.row_starts, batch.row_starts + batch.texts, first) - batch.row_starts - 1;
  for (int64_t r = 0; r < rows; ++r) {
    while (first + r >= batch.row_starts[text + 1]) ++text;
    const int32_t vector = batch.ids[first + r];
    float* row = read + r * read_stride;
    if (vector < 0) {
      std::fill_n(row, width, 0.f);
    } else {
      std::copy_n(batch.inputs[static_cast<size_t>(text)].vectors.data() + vector * width, width, row);
    }
  }
  if (vectors.norm_in.present()) normalize(vectors.norm_in, read, read_stride, rows, width, read, read_stride);
  if (vectors.linear.present()) {
    LINFORMER_TRY(run_linear(program.vector_linear, vectors.linear, {rows, read, read_stride, x, stride}, thread));
    if (vectors.norm_out.present()) {
      normalize(vectors.norm_out, x, stride, rows, program.embedding_width, x, stride);
    }
  }
  for (int64_t r = 0; embedding.prefix != absent && r < rows; ++r) {
    if (batch.ids[first + r] < 0) std::copy_n(floats(embedding.prefix), program.embedding_width, x + r * stride);
  }
  return {};
}

// `spare`: one row.
void Session::State::add_positions(int64_t first, int64_t rows, float* x, int64_t stride, float* spare) const {
  const EmbeddingDescription& embedding = encoder().embedding;
  const Kernels& kernels = *program.kernels;
  const int64_t width = program.embedding_width;
  const auto add_row = [&](TensorIndex table, int64_t index, float* row) {
    const ElementType type = description().tensors[static_cast<size_t>(table)].type;
    kernels.widen(type, model->data(table) + index * width * element_bytes(type), spare, width);
    kernels.add(row, spare, width);
  };
  for (int64_t r = 0; r < rows; ++r) {
    float* row = x + r * stride;
    if (embedding.position_kind == PositionKind::learned) {
      add_row(embedding.positions, batch.positions[first + r], row);
    } else if (embedding.position_kind != PositionKind::none) {
      kernels.add(row, buffer(buffer_position_table) + batch.positions[first + r] * width, width);
    }
    if (embedding.token_types != absent) add_row(embedding.token_types, batch.types[first + r], row);
  }
}

Status Session::State::embed_rows(int64_t first, int64_t rows, int thread) const {
  const EncoderDescription& e = encoder();
  const EmbeddingDescription& embedding = e.embedding;
  const Kernels& kernels = *program.kernels;
  const int64_t stride = program.d, d = e.d_model, width = program.embedding_width;
  float* block = buffer(buffer_rows) + first * stride;
  float* spare = thread_buffer(buffer_query, thread, program.query_stride);
  const bool has_factor = embedding.factor.present();
  float* x = has_factor ? thread_buffer(buffer_ffn, thread, program.ffn_stride) : block;
  const int64_t x_stride = has_factor ? program.ffn_stride : stride;
  if (embedding.tokens == absent) {
    LINFORMER_TRY(read_vectors(first, rows, x, x_stride, thread));
  } else {
    const ElementType type = description().tensors[static_cast<size_t>(embedding.tokens)].type;
    const std::byte* tokens = model->data(embedding.tokens);
    for (int64_t r = 0; r < rows; ++r) {
      float* row = x + r * x_stride;
      kernels.widen(type, tokens + batch.ids[first + r] * width * element_bytes(type), row, width);
      if (embedding.scale != 1.f) {
        for (int64_t i = 0; i < width; ++i) row[i] *= embedding.scale;
      }
    }
  }
  add_positions(first, rows, x, x_stride, spare);
  if (has_factor)
    LINFORMER_TRY(run_linear(program.factor, embedding.factor, {rows, x, x_stride, block, stride}, thread));

  const auto transform = [&]() -> Status {
    LINFORMER_TRY(
        run_linear(program.transform, embedding.transform, {rows, block, stride, spare, program.query_stride}, thread));
    for (int64_t r = 0; r < rows; ++r) std::copy_n(spare + r * program.query_stride, d, block + r * stride);
    return {};
  };
  if (embedding.transform.present() && embedding.transform_before_norm) LINFORMER_TRY(transform());
  if (embedding.norm.present()) normalize(embedding.norm, block, stride, rows, d, block, stride);
  if (embedding.transform.present() && !embedding.transform_before_norm) LINFORMER_TRY(transform());
  for (int64_t r = 0; embedding.zero_pad_rows && r < rows; ++r) {
    if (batch.ids[first + r] == e.pad_id) std::fill_n(block + r * stride, d, 0.f);
  }
  return {};
}

Status Session::State::embed() {
  const EncoderDescription& e = encoder();
  const int64_t stride = program.d, d = e.d_model;
  const Norm& first_norm = program.layers[0].description->attention_norm;
  return parallel_rows(batch.rows, [&](int64_t first, int64_t rows, int thread) -> Status {
    LINFORMER_TRY(embed_rows(first, rows, thread));
    const float* block = buffer(buffer_rows) + first * stride;
    if (e.residual == ResidualKind::reversible) {
      std::copy_n(block, rows * stride, buffer(buffer_second_rows) + first * stride);
    }
    if (e.norm_placement == NormPlacement::pre && first_norm.present()) {
      normalize(first_norm, block, stride, rows, d, buffer(buffer_normalized) + first * stride, stride);
    }
    return {};
  });
}

}  // namespace linformer
