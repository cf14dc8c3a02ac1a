// A model made executable: which products each layer runs, in which association, and where every buffer lies.
//
// plan() publishes the memory part; a Session keeps the whole. Everything here is a pure function of the
// description and the options, so equal inputs give equal offsets.
#pragma once

#include <memory>
#include <vector>

#include "gemm/gemm.h"
#include "linformer/model.h"
#include "linformer/session.h"

namespace linformer {

// The sides of attention that are compressed.
enum Side { key_side = 0, value_side = 1 };

// How a layer gets from its rows Z to what its queries see.
enum class AttentionPath : uint8_t {
  shared_projection,  // one linear E for all heads of a side: (E Z) W or E (Z W)
  by_head,            // K = Z W whole, then each head's own projection, convolution or pooling
  full,               // K = Z W, in blocks of rows with a running softmax
};

// Product ids of one side. Only the association that the shape can need is declared; others are -1.
struct SideProgram {
  const Linear* linear = nullptr;
  const Projection* projection = nullptr;  // shared_projection: the one of all heads
  // (E Z) W: compress, then linear.
  int compress = -1;
  int linear_after = -1;
  // Z W: for E (Z W), and for the other paths.
  int linear_first = -1;
  int compress_after = -1;
  // (E Z) W misses (E 1) b^T when the dialect adds b before E; the executor adds it row by row.
  bool needs_row_sums = false;
  bool bias_after = false;  // the linear's bias belongs after E, not to Z W
};

// Heads that see the same compressed keys and values: one query head, or all of them when there is one key/value head.
struct GroupProgram {
  int64_t k = 0;        // compressed rows of a text of N tokens
  int64_t column = 0;   // of Z W
  int64_t key_row = 0;  // by_head: where its block begins in the keys buffer, elements
  int64_t packed = 0;   // where its panels begin in a compressed buffer, elements
  const Projection* projections[2] = {nullptr, nullptr};
  int compress[2] = {-1, -1};       // by_head: E (Z W), or one tap of a convolution
  int compress_more[2] = {-1, -1};  // the later taps, which add
  int scores = -1, context = -1;
};

struct LayerProgram {
  const LayerDescription* description = nullptr;
  AttentionPath path = AttentionPath::shared_projection;
  SideProgram sides[2];
  bool shared_projection = false;  // E = F: E Z is computed once
  bool value_is_key = false;
  int64_t k = 0;                                           // the largest of any group; 0: full attention
  int64_t source_width = 0;                                // of the rows that keys and values are made of
  int64_t width_in = 0, width_between = 0, width_out = 0;  // before attention, after it, after the ffn
  int64_t query_width = 0, key_width = 0;                  // all heads together
  std::vector<GroupProgram> groups;
  // Texts of fewer rows than this take E (Z W): fewer operations there. Depends on the model alone, so the same text
  // takes the same path in every session. Beyond N for paths that know nothing else.
  int64_t project_first_below = 0;
  int query = -1, output = -1, output_second = -1, attention_resample = -1;
  int context_add = -1;  // full attention: the second and later blocks of keys
  int ffn_in = -1, ffn_out = -1, ffn_resample = -1;
};

struct HeadProgram {
  int dense = -1;
  int output = -1;
};

enum BufferId {
  buffer_row_starts = 0,  // first packed row of each text
  buffer_ids,             // token of each packed row; or the number of its vector, -1 = the prefix
  buffer_positions,       // row of the position table for each packed row
  buffer_types,           // token type of each packed row
  buffer_masks,           // of each packed row: bit 0 = masked, bit 1 = its query is zero
  buffer_memory_starts,   // as row_starts, for the memory
  buffer_memory_masks,
  buffer_memory,          // rows of all texts
  buffer_position_table,  // sinusoidal positions
  buffer_rows,            // X
  buffer_second_rows,     // the second stream of a reversible model
  buffer_normalized,      // norm(X), pre-norm models only
  buffer_compressed_key,  // E Z or Z W of each text; later its packed K^T
  buffer_compressed_value,
  buffer_keys,
  buffer_values,
  buffer_query,    // per thread: Q, overwritten head by head with the context
  buffer_scores,   // per thread: one head's scores
  buffer_context,  // per thread: full attention's sums of one head, then maximum, sum and factor of each row
  buffer_ffn,      // per thread
  buffer_scratch,  // per thread: the GEMM provider's
  buffer_pooled,
  buffer_paired,  // a head's input: normalized, or made of two texts
  buffer_head,    // a head's dense output
  buffer_logits,
  buffer_count
};

inline constexpr uint8_t mask_row = 1, mask_query = 2;

struct Program {
  Plan plan;
  const Kernels* kernels = nullptr;
  const EncoderDescription* encoder = nullptr;  // the part that this session runs
  bool has_heads = true;                        // heads and masked-LM belong to this part
  std::unique_ptr<GemmProvider> gemm;
  std::vector<LayerProgram> layers;
  std::vector<HeadProgram> heads;
  int vector_linear = -1, factor = -1;
  int transform = -1;  // embedding transform (fairseq quant_noise)
  int output = -1;     // after the final norm
  int embedding_dense = -1;
  int mlm_dense = -1, mlm_output = -1;
  bool mlm_tied = false;  // the output weight is the row-major token embedding
  bool packs = false;     // K^T and V are packed for the provider
  // Strides and widths in elements.
  int64_t d = 0;                    // stride of X: the widest that it gets
  int64_t embedding_width = 0;      // of token rows and positions
  int64_t output_width = 0;         // of the encoder's output
  int64_t table_rows = 0;           // of the sinusoidal position table
  int64_t query_stride = 0;         // per-thread row of Q
  int64_t compressed_elements = 0;  // one text's slot in a compressed buffer
  int64_t key_elements = 0;         // one text's slot in keys, values
  int64_t full_width = 0;           // full attention: elements that one row of K takes, all heads, padded
  int64_t scores_stride = 0;
  int64_t context_stride = 0;  // head_dim of full attention
  int64_t ffn_stride = 0;
  int64_t classes_stride = 0;
  int64_t head_stride = 0;
  int64_t paired_stride = 0;
  int64_t score_rows = 0;  // rows of logits, at most
  uint64_t scratch_bytes = 0;
};

// First refusal: what the description says and this version cannot execute, by name.
Status check_executable(const ModelDescription& description, const EncoderDescription& encoder);

// Columns of E Z that one task computes.
inline constexpr int64_t compress_columns = 128;
// Rows that a thread takes through a layer at once: the row block with its FFN slice (128 x 3072 floats) stays
// near the core's own cache, and each weight read from the shared cache serves 128 rows. Full attention takes keys in
// blocks of as many.
inline constexpr int64_t max_block_rows = 128;

// Windows of a convolution or pooling that a text of n rows has.
inline int64_t windows(const Projection& projection, int64_t n) {
  return n < projection.kernel ? 1 : (n - projection.kernel) / projection.stride + 1;
}

Result<Program> make_program(const Model& model, const SessionOptions& options);

// Declares every product of the program to its GEMM provider and sets the strides.
Status declare_products(const Model& model, Program* program);

// Fills program->plan.buffers from the strides and the resolved options.
Status lay_out(const EncoderDescription& encoder, Program* program);

}  // namespace linformer
