// A model made executable: which products each layer runs, in which association, and where every buffer lies.
//
// plan() publishes the memory part; a Session keeps the whole. Everything here is a pure function of the
// description and the options, so equal inputs give equal offsets.
#pragma once

#include <memory>
#include <vector>

#include "backends/backend.h"
#include "linformer/model.h"
#include "linformer/session.h"

namespace linformer {

// The sides of attention that are compressed.
enum Side { key_side = 0, value_side = 1 };

// Product ids of one compressed side. Only the association that the shape can need is declared; others are -1.
struct CompressedSide {
  const Projection* projection = nullptr;
  const Linear* linear = nullptr;
  // (E Z) W: compress, then linear.
  int compress = -1;
  int linear_after = -1;
  // E (Z W): linear, then compress.
  int linear_first = -1;
  int compress_after = -1;
  // (E Z) W misses (E 1) b^T when the dialect adds b before E; the executor adds it row by row.
  bool needs_row_sums = false;
};

struct LayerProgram {
  const LayerDescription* description = nullptr;
  CompressedSide sides[2];
  bool shared_projection = false;  // E = F: E Z is computed once
  int64_t k = 0;
  // Texts of fewer tokens than this take E (Z W): fewer operations there. Depends on the model alone, so the
  // same text takes the same path in every session.
  int64_t project_first_below = 0;
  int query = -1, scores = -1, context = -1, output = -1;
  int ffn_in = -1, ffn_out = -1;
};

struct HeadProgram {
  int dense = -1;
  int output = -1;
};

enum BufferId {
  buffer_row_starts = 0,  // first packed row of each text
  buffer_ids,             // token of each packed row
  buffer_positions,       // row of the position table for each packed row
  buffer_rows,            // X
  buffer_normalized,      // norm(X), pre-norm models only
  buffer_compressed_key,  // E Z of each text; later its packed K^T
  buffer_compressed_value,
  buffer_keys,
  buffer_values,
  buffer_query,    // per thread: Q, overwritten head by head with the context
  buffer_scores,   // per thread: one head's scores
  buffer_ffn,      // per thread
  buffer_scratch,  // per thread: the backend's
  buffer_pooled,
  buffer_head,  // per text: the head's dense output
  buffer_logits,
  buffer_count
};

struct Program {
  Plan plan;
  const Kernels* kernels = nullptr;
  std::unique_ptr<Backend> backend;
  std::vector<LayerProgram> layers;
  std::vector<HeadProgram> heads;
  int transform = -1;  // embedding transform (fairseq quant_noise)
  int mlm_dense = -1, mlm_output = -1;
  bool mlm_tied = false;  // the output weight is the row-major token embedding
  bool packs = false;     // K^T and V are packed for the backend
  // Strides in elements.
  int64_t d = 0;                    // d_model
  int64_t attention_width = 0;      // widest heads * head_dim
  int64_t query_stride = 0;         // per-thread row of Q: max(d, attention_width)
  int64_t compressed_elements = 0;  // one text's slot in a compressed buffer
  int64_t key_elements = 0;         // one text's slot in keys, values
  int64_t scores_stride = 0;
  int64_t ffn_stride = 0;
  int64_t classes_stride = 0;
  int64_t head_stride = 0;
  uint64_t scratch_bytes = 0;
};

// First refusal: what the description says and this version cannot execute, by name.
Status check_executable(const ModelDescription& description);

// Columns of E Z that one task computes.
inline constexpr int64_t compress_columns = 128;
// Rows that a thread takes through a layer at once: the row block with its FFN slice (128 x 3072 floats) stays
// near the core's own cache, and each weight read from the shared cache serves 128 rows.
inline constexpr int64_t max_block_rows = 128;

Result<Program> make_program(const Model& model, const SessionOptions& options);

// Fills program->plan.buffers from the strides and the resolved options.
Status lay_out(const ModelDescription& description, Program* program);

}  // namespace linformer
