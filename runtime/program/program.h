// A program: a lowered model, as lists of stages and ops over views, which a session runs. README.md explains it.
//
// The arena, the GEMMs that a provider prepares, FLOPs and bytes, the listing and the execution are all derived from
// the program and from nothing else. A program owns no weights and contains no addresses.
#pragma once

#include <cstdint>

#include "base/array.h"
#include "linformer/version.h"
#include "program/arena.h"
#include "program/key_groups.h"
#include "program/ops/op.h"
#include "program/stage.h"

namespace LINFORMER_NAMESPACE {

// The queries and keys whose scores full attention computes at once. The scores take 64 KB in f32. There are many keys,
// so that products are long and the context is seldom rescaled. A block of keys and values then stays in the core's own
// cache for all queries of a block of rows.
inline constexpr int64_t most_full_queries = 32, full_keys = 512;

// The limits that a program is lowered for. All are positive except encoder_states, which is 0 if the model reads none.
struct Extents {
  int64_t sequences = 1;       // The most sequences in one call.
  int64_t tokens = 1;          // The most tokens of a sequence.
  int64_t rows = 1;            // The most rows in one call.
  int64_t encoder_states = 0;  // The most rows of encoder states that a sequence has.
  int64_t threads = 1;
  int64_t block_rows = 16;  // The rows that a thread takes through a layer at once.

  // Returns the most rows from which a sequence's keys can be computed.
  int64_t longest_source(KeySource source) const {
    if (source == KeySource::own) return tokens;
    return source == KeySource::encoder_states || encoder_states > tokens ? encoder_states : tokens;
  }
  // Returns how many queries are multiplied by a block of keys at once in full attention.
  int64_t full_attention_queries() const { return block_rows < most_full_queries ? block_rows : most_full_queries; }
};

// The properties of the executor that runs a program.
struct Target {
  bool packs = false;   // Whether it reads K^T and V as panels.
  bool bf16 = false;    // Whether it multiplies bf16 weights without widening them.
  bool int8 = false;    // Whether it multiplies int8 weights without widening them, by rows that are quantised.
  bool device = false;  // Whether it runs each op on all rows at once and attends without a buffer of scores.
  ElementType all = ElementType::f32;  // On a device: the type that every weight is multiplied in, f32 or of 16 bits.
  // The types in which layers with weights in bf16 or int8, and all other layers, compute attention. They may be bf16
  // only if `packs` is true.
  ElementType narrow_attention = ElementType::f32, wide_attention = ElementType::f32;
  // Returns the type in which weights of `type` are multiplied.
  ElementType compute_type(ElementType type) const {
    if (device) return all;
    return (type == ElementType::bf16 && bf16) || (type == ElementType::int8 && int8) ? type : ElementType::f32;
  }
  // Returns the type in which a layer with weights of `type` computes scores and context. With int8
  // weights it is f32 or bf16, because rows of keys and values have no int8 scales.
  ElementType attention_type(ElementType type) const {
    if (device) return all;
    return type == ElementType::bf16 || type == ElementType::int8 ? narrow_attention : wide_attention;
  }
};

// The sections of a layer.
struct LayerSections {
  Section stages;       // All stages of the layer.
  Section keys;         // The stages that compute its keys and values, which come first.
  Section hidden;       // The stage that copies the layer's rows to the caller.
  int64_t width = 0;    // The width of the layer's rows.
  int64_t streams = 1;  // The number of streams of rows: 2 in a reversible model.
};

// The stages of a head.
struct HeadSections {
  Section stages;
  int64_t classes = 0;
  bool each_row = false;    // Whether it scores each packed row instead of each sequence.
  bool first_rows = false;  // Whether it reads only the first row of each sequence.
  bool pairs = false;       // Whether it scores pairs of sequences.
};

// A sine and cosine table of rotary positions.
struct Rotary {
  float base = 0, scale = 1;
  int64_t d_head = 0;
  int64_t offset = 0;  // Where it begins in the buffer of rotary tables, in elements.
};

// A linear projection E[k, n] in panels, as the right operand of a product.
struct ProjectionTable {
  View e;
  bool transposed = false;  // Whether the table holds E^T[n, k] instead of E[k, n].
  int64_t n = 0;            // How many of E's columns the table has. They are the first ones.
  ElementType compute = ElementType::f32;
  int64_t offset = 0;  // Where it begins in the buffer of projection tables, in elements of 4 bytes.
};

// A table of sinusoidal positions. Row i is position first + i. If pads have a position of their own that is not among
// these, one more row follows for it.
struct SinusoidalTable {
  int64_t rows = 0, width = 0;
  int64_t first = 0;         // The position of row 0.
  int64_t pad_row = -1;      // The row that pads read, or -1 if pads are counted as other tokens are.
  int64_t pad_position = 0;  // The position of pads.
  bool interleaved = false;
  float base = 0;
  int32_t frequencies = -1;  // The tensor of frequencies. If -1, frequencies are powers of the base.
};

// A lowered encoder, with its heads if it has any.
struct Program {
  Extents extents;
  Target target;
  Array<Op> ops;
  Array<Stage> stages;
  Array<KeyGroup> groups;
  Array<Rotary> rotaries;
  Array<ProjectionTable> projections;
  SinusoidalTable sinusoidal;
  Section embedding;
  Section embedding_hidden;
  Array<LayerSections> layers;
  Section finish;
  Section first_rows;  // The last layer after its keys, and `finish`, for only the first row of each sequence.
  Section output_hidden;
  Section pooled;
  Array<HeadSections> heads;
  Section sentence_embedding;
  bool embeds_first_rows = false;  // Whether the sentence embedding reads only the first row of each sequence.
  Section masked_lm;

  bool needs_states = false;  // Whether the keys of some layer can only be computed from encoder states.
  int32_t pad_id = -1;
  int64_t states_width = 0;     // The width of a row of encoder states.
  int64_t output_width = 0;     // The width of the encoder's output.
  int64_t embedding_width = 0;  // The width of a sentence embedding. If 0, the model has none.
  int64_t vocabulary = 0;       // The width of the masked-LM logits.
  int64_t max_pooled_rows = 0;  // The number that Pooling::mean_over_max_tokens divides by.
  int64_t full_width = 0;       // In full attention: the elements that one row of K takes, for all heads.
  // Whether the model has layers with whole and layers with compressed keys. These layers share buffers but divide them
  // among sequences in different ways, so the data of one sequence in one layer may overlap the data of another
  // sequence in another layer.
  bool mixes_attention = false;
  // The largest LayerPlan::project_first_below of the layers with LayerPlan::one_projection. At least one of them
  // multiplies sequences of fewer rows by the weight before it compresses them.
  int64_t project_first_below = 0;
  Arena arena;
  int64_t slots[buffer_count] = {};  // The elements of a sequence's slot in each buffer that has slots.

  Program() = default;
  // These are defined in lower.cc, because each inlined copy would take 1 KB of code.
  Program(Program&& other) noexcept;
  Program& operator=(Program&& other) noexcept;

  int64_t slot_elements(BufferId buffer) const { return slots[static_cast<int>(buffer)]; }
  const KeyGroup& group(const KeyGroups& of, int64_t group) const {
    return groups[static_cast<size_t>(of.first + group)];
  }
};

// The columns of E Z that one item computes, where E is a projection and Z the rows that keys are computed from.
inline constexpr int64_t column_chunk = 128;
// The rows that a thread takes through a layer at once if CpuOptions::block_rows is 0. A block of rows with its
// inner rows of the feed-forward network (128 x 3072 floats) stays near the core's own cache, and each weight that is
// read from the shared cache is used for 128 rows.
inline constexpr int64_t default_block_rows = 128, max_block_rows = 256, block_row_multiple = 32;
// The bytes between two threads' parts of a buffer. A core prefetches cache lines after those that it reads, within a
// page. Without the gap it would fetch lines of the next thread's part, which that thread would have to fetch back.
inline constexpr int64_t thread_part_gap = 4096 - 64;
// K and V of full attention are computed and read in multiples of this many rows. It is a multiple of
// panel_k_multiple() for f32 and bf16, the types of attention, so V's panels can be divided at each multiple of it.
inline constexpr int64_t full_panel_rows = 32;

// Returns how many rows an item should have: `rows` divided evenly over `parts`, and at most `block`. An item has
// at least 8 rows. It has at least 16 if `rows` is at most 16, or if there are not 8 rows for each part: threads then
// share products instead of rows, which reads the weights less often.
int64_t rows_per_item(int64_t rows, int64_t parts, int64_t block);

}  // namespace LINFORMER_NAMESPACE
