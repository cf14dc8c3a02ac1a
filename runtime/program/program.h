// A model lowered: what a session runs, as lists of stages and ops over views. README.md says how to read one.
//
// Everything else is derived from it and nothing re-derives it: the arena, the GEMMs that a provider prepares, FLOPs
// and bytes, the listing, and the execution. It owns no weight and has no address in it.
#pragma once

#include <cstdint>

#include "base/array.h"
#include "linformer/version.h"
#include "program/arena.h"
#include "program/key_groups.h"
#include "program/ops/op.h"
#include "program/stage.h"

namespace LINFORMER_NAMESPACE {

// Full attention's scores at once: 64 KB of f32. Many keys, so that products are long and the context is seldom
// corrected; a block of keys and values is then in the core's own cache for all of a row block's queries.
inline constexpr int64_t most_full_queries = 32, full_keys = 512;

// What a program is lowered for. All are positive but encoder_states, which is 0 where nothing reads any.
struct Extents {
  int64_t sequences = 1;       // in one call
  int64_t tokens = 1;          // of a sequence
  int64_t rows = 1;            // in one call
  int64_t encoder_states = 0;  // rows of a sequence's encoder states
  int64_t threads = 1;
  int64_t block_rows = 16;  // that a thread takes through a layer at once

  // The most rows from which a sequence's keys can be computed.
  int64_t longest_source(KeySource source) const {
    if (source == KeySource::own) return tokens;
    return source == KeySource::encoder_states || encoder_states > tokens ? encoder_states : tokens;
  }
  // Queries of full attention that meet a block of keys at once.
  int64_t full_queries() const { return block_rows < most_full_queries ? block_rows : most_full_queries; }
};

// What the executor that runs it wants.
struct Target {
  bool packs = false;                  // K^T and V as panels
  bool bf16 = false;                   // multiplies bf16 weights without widening them
  bool int8 = false;                   // the same of int8, its rows of activations quantised
  bool device = false;                 // runs each op on all rows at once, attends without a buffer of scores
  ElementType all = ElementType::f32;  // device: what every weight is multiplied in, f32 or of 16 bits
  // What layers with weights in bf16 or int8 attend in, and all others: f32, or bf16 where it packs.
  ElementType narrow_attention = ElementType::f32, wide_attention = ElementType::f32;
  // What weights of `type` are multiplied in.
  ElementType compute(ElementType type) const {
    if (device) return all;
    return (type == ElementType::bf16 && bf16) || (type == ElementType::int8 && int8) ? type : ElementType::f32;
  }
  // What a layer with weights of `type` computes scores and context in. Weights of 8 bits leave them in 16: their rows
  // have no scales of their own.
  ElementType attention(ElementType type) const {
    if (device) return all;
    return type == ElementType::bf16 || type == ElementType::int8 ? narrow_attention : wide_attention;
  }
};

struct LayerSections {
  Section stages;
  Section keys;    // the part of them that makes its keys and values
  Section hidden;  // its rows for the caller
  int64_t width = 0;
  int64_t streams = 1;
};

struct HeadSections {
  Section stages;
  int64_t classes = 0;
  bool each_row = false;    // scores packed rows, not sequences
  bool first_rows = false;  // reads the first row of each sequence alone
  bool pairs = false;       // two sequences each
};

// A sine and cosine table of rotary positions.
struct Rotary {
  float base = 0, scale = 1;
  int64_t d_head = 0;
  int64_t offset = 0;  // in the rotary table, elements
};

// A linear projection E[k, n] as the right side of a product, in panels.
struct ProjectionTable {
  View e;
  bool transposed = false;  // E^T[n, k], else E[k, n]
  int64_t n = 0;            // columns of E that it has
  ElementType compute = ElementType::f32;
  int64_t offset = 0;  // in the projection table, elements of 4 bytes
};

// Sinusoidal positions: row i of the table is position first + i; pads may have a row of their own behind.
struct SinusoidalTable {
  int64_t rows = 0, width = 0;
  int64_t first = 0;     // position of row 0
  int64_t pad_row = -1;  // where it lies, and what it is
  int64_t pad_position = 0;
  bool interleaved = false;
  float base = 0;
  int32_t frequencies = -1;  // tensor: instead of powers of the base
};

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
  Section first_rows;  // the last layer after its keys, and `finish`, of the first row of each sequence alone
  Section output_hidden;
  Section pooled;
  Array<HeadSections> heads;
  Section sentence_embedding;
  bool embeds_first_rows = false;  // the sentence embedding reads the first row of each sequence alone
  Section masked_lm;

  bool needs_states = false;  // a layer's keys are made of encoder states and nothing else
  int32_t pad_id = -1;
  int64_t states_width = 0;     // of a row of encoder states
  int64_t output_width = 0;     // of the encoder's output
  int64_t embedding_width = 0;  // of a sentence embedding; 0: there is none
  int64_t vocabulary = 0;       // of the masked-LM head's logits
  int64_t max_pooled_rows = 0;  // mean_over_max_tokens: N
  int64_t full_width = 0;       // full attention: elements that one row of K takes, all heads
  // Full and compressed attention share buffers and divide them among sequences in different ways: what one layer has
  // of a sequence may lie where another has something of the next.
  bool mixes_attention = false;
  // Sequences of fewer rows than this are projected whole, and their scores or Z W compressed: fewer operations there.
  // The largest of any layer.
  int64_t project_first_below = 0;
  Arena arena;
  int64_t slots[buffer_count] = {};  // elements of a sequence's slot, of each buffer that has slots

  Program() = default;
  // Defined in lower.cc alone: each is 1 KB of code.
  Program(Program&& other) noexcept;
  Program& operator=(Program&& other) noexcept;

  int64_t slot(BufferId buffer) const { return slots[static_cast<int>(buffer)]; }
  const KeyGroup& group(const KeyGroups& of, int64_t group) const {
    return groups[static_cast<size_t>(of.first + group)];
  }
};

// Columns of E Z that one item computes.
inline constexpr int64_t column_chunk = 128;
// Rows that a thread takes through a layer at once, where nothing else is asked for: a row block with its FFN slice
// (128 x 3072 floats) stays near the core's own cache, and each weight read from the shared cache serves 128 rows.
inline constexpr int64_t default_block_rows = 128, max_block_rows = 256, block_row_multiple = 32;
// Bytes between two threads' parts of a buffer. A core fetches lines ahead of what it reads, within a page: into the
// next thread's part, which then has to take them back.
inline constexpr int64_t thread_part_gap = 4096 - 64;
// Full attention's K and V are made and read in multiples of so many rows: whole steps of V's panels in any type.
inline constexpr int64_t full_panel_rows = 32;

// Rows in steps of `block`, or evenly split over `parts` where these are less. Where that leaves fewer than 8 for each,
// or there are no more than 16, 16 stay together: threads share their products instead, which reads weights less often.
int64_t even_step(int64_t rows, int64_t parts, int64_t block);

}  // namespace LINFORMER_NAMESPACE
