// The arena formula. Every buffer of a session, its size and its place.
#include <algorithm>

#include "base/checked.h"
#include "plan/program.h"

namespace linformer {
namespace {

constexpr uint64_t buffer_alignment = 64;  // bytes: a cache line, and the widest vector

class Layout {
 public:
  explicit Layout(Plan* plan) : plan_(*plan) {}

  // A buffer of a x b x c elements of `width` bytes, as the formula says. The order of calls is the order of BufferId.
  void add(const char* name, const char* formula, int64_t a, int64_t b, int64_t c, uint64_t width) {
    CheckedSize bytes;
    bytes.add_product(static_cast<uint64_t>(a), static_cast<uint64_t>(b), static_cast<uint64_t>(c));
    CheckedSize scaled;
    scaled.add_product(bytes.value(), width);
    scaled.align(buffer_alignment);
    valid_ = valid_ && bytes.valid() && scaled.valid();
    plan_.buffers[plan_.buffer_count++] = {name, formula, total_.value(), scaled.value()};
    total_.add(scaled.value());
  }

  void term(const char* name, int64_t value, const char* meaning) {
    plan_.terms[plan_.term_count++] = {name, meaning, value};
  }

  bool finish() {
    plan_.total_bytes = total_.value();
    return valid_ && total_.valid() && total_.value() < (uint64_t{1} << 47);
  }

 private:
  Plan& plan_;
  CheckedSize total_;
  bool valid_ = true;
};

}  // namespace

Status lay_out(const EncoderDescription& encoder, Program* program) {
  Program& p = *program;
  const SessionOptions& options = p.plan.options;
  const EmbeddingDescription& embedding = encoder.embedding;
  const bool pre_norm = encoder.norm_placement == NormPlacement::pre;
  const bool reversible = encoder.residual == ResidualKind::reversible;
  const int64_t rows = options.max_rows, texts = options.max_batch, threads = options.threads;
  const int64_t memory_rows = texts * options.max_memory;
  const int64_t block = p.plan.block_rows;
  constexpr uint64_t f32 = sizeof(float);
  static_assert(buffer_count <= Plan::max_buffers);
  p.query_stride = std::max(p.query_stride, p.d);
  p.ffn_stride = std::max(p.ffn_stride, p.d);
  p.scratch_bytes = p.gemm->scratch_bytes();
  // Full attention: each text's rows begin at a multiple of the panel width.
  const int64_t full_rows =
      p.full_width == 0 ? 0 : round_up(std::max(rows, memory_rows) + (panel_width - 1) * texts, panel_width);
  const int64_t full = full_rows * p.full_width;

  const int64_t sums = p.context_stride == 0 ? 0 : p.context_stride + 3;
  const int64_t scratch = round_up(static_cast<int64_t>(p.scratch_bytes), buffer_alignment);
  const int64_t paired_rows = p.paired_stride == 0 ? 0 : p.score_rows;
  // Where the backend packs, keys and values of full attention become panels; elsewhere they stay rows.
  const bool full_panels = p.packs && full > 0, full_plain = !p.packs && full > 0;
  const char* compressed_formula = full_panels ? "4 x max(b x compressed, full)" : "4 x b x compressed";
  const char* keys_formula = full_plain ? "4 x max(b x keys, full)" : "4 x b x keys";
  const int64_t compressed = std::max(texts * p.compressed_elements, full_panels ? full : 0);
  const int64_t keys = std::max(texts * p.key_elements, full_plain ? full : 0);

  Layout layout(&p.plan);
  layout.term("b", texts, "texts in one call");
  layout.term("rows", rows, "tokens in one call, all texts together");
  layout.term("m", options.max_memory, "rows of a text's memory (cross attention)");
  layout.term("threads", threads, "threads of the session");
  layout.term("block", block, "rows that a thread takes through a layer at once: 128, or all where there are fewer");
  layout.term("d_row", p.d, "d_model, or the widest row between two layers");
  layout.term("d_query", p.query_stride, "D = heads x head_dim, or d_row if that is more");
  layout.term("d_scores", p.scores_stride, "k of a head, or block where attention is full; a multiple of 16");
  layout.term("d_sums", sums, "head_dim as a multiple of 16, and 3 (full attention)");
  layout.term("d_ffn", p.ffn_stride, "the feed-forward network's inner width, or d_row if that is more");
  layout.term("d_memory", encoder.memory_width, "width of a memory row");
  layout.term("d_position", p.embedding_width, "width of a computed position");
  layout.term("positions", p.table_rows, "computed positions: n and the offset");
  layout.term("compressed", p.compressed_elements,
              "of a text: k d, k D, panels of K^T and V, or D for each token where E (Z W) is cheaper; the largest");
  layout.term("keys", p.key_elements, "of a text: k D; the heads' own k where they differ");
  layout.term("full", full, "rows x D where attention is full, a text's rows and a head's columns in multiples of 16");
  layout.term("scratch", scratch, "bytes that the backend asks for each thread");
  layout.term("d_pooled", p.output_width, "width of the encoder's output");
  layout.term("scored", p.score_rows, "b, or rows where a head scores each token");
  layout.term("d_paired", p.paired_stride, "input of a head with a norm, or of one on pairs");
  layout.term("d_head", p.head_stride, "inner width of a head");
  layout.term("classes", p.classes_stride, "classes of the head that has most");

  layout.add("row starts", "8 x (b + 1)", texts + 1, 1, 1, sizeof(int64_t));
  layout.add("token ids", "4 x rows", rows, 1, 1, sizeof(int32_t));
  layout.add("position rows", "4 x rows", rows, 1, 1, sizeof(int32_t));
  layout.add("token types", "rows", embedding.token_types != absent ? rows : 0, 1, 1, 1);
  layout.add("masks", "rows", rows, 1, 1, 1);
  layout.add("memory starts", "8 x (b + 1)", memory_rows > 0 ? texts + 1 : 0, 1, 1, sizeof(int64_t));
  layout.add("memory masks", "b x m", memory_rows, 1, 1, 1);
  layout.add("memory", "4 x b x m x d_memory", memory_rows, encoder.memory_width, 1, f32);
  layout.add("position table", "4 x positions x d_position", p.table_rows, p.embedding_width, 1, f32);
  layout.add("rows", "4 x rows x d_row", rows, p.d, 1, f32);
  layout.add("second rows", "4 x rows x d_row", reversible ? rows : 0, p.d, 1, f32);
  layout.add("normalized rows", "4 x rows x d_row", pre_norm ? rows : 0, p.d, 1, f32);
  layout.add("compressed keys", compressed_formula, compressed, 1, 1, f32);
  layout.add("compressed values", compressed_formula, compressed, 1, 1, f32);
  layout.add("keys", keys_formula, keys, 1, 1, f32);
  layout.add("values", keys_formula, keys, 1, 1, f32);
  layout.add("query and context", "4 x threads x block x d_query", threads, block, p.query_stride, f32);
  layout.add("scores", "4 x threads x block x d_scores", threads, block, p.scores_stride, f32);
  layout.add("running softmax", "4 x threads x block x d_sums", threads, block, sums, f32);
  layout.add("feed-forward", "4 x threads x block x d_ffn", threads, block, p.ffn_stride, f32);
  layout.add("backend scratch", "threads x scratch", threads, 1, scratch, 1);
  layout.add("pooled", "4 x b x d_pooled", texts, p.output_width, 1, f32);
  layout.add("head input", "4 x scored x d_paired", paired_rows, p.paired_stride, 1, f32);
  layout.add("head dense", "4 x scored x d_head", p.score_rows, p.head_stride, 1, f32);
  layout.add("logits", "4 x scored x classes", p.score_rows, p.classes_stride, 1, f32);
  if (!layout.finish()) {
    return Status::error(Code::too_long,
                         "a session of %lld tokens and %lld texts needs more memory than can be addressed: lower "
                         "max_tokens or max_batch",
                         static_cast<long long>(options.max_tokens), static_cast<long long>(texts));
  }
  return {};
}

}  // namespace linformer
