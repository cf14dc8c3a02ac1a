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

  // A buffer of a x b x c elements of `width` bytes. The order of calls is the order of BufferId.
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
  p.scratch_bytes = p.backend->scratch_bytes();
  // Full attention: each text's rows begin at a multiple of the panel width.
  const int64_t full_rows =
      p.full_width == 0 ? 0 : round_up(std::max(rows, memory_rows) + (panel_width - 1) * texts, panel_width);
  const int64_t full = full_rows * p.full_width;

  Layout layout(&p.plan);
  layout.add("row starts", "(b + 1) x 8", texts + 1, 1, 1, sizeof(int64_t));
  layout.add("token ids", "rows x 4", rows, 1, 1, sizeof(int32_t));
  layout.add("position rows", "rows x 4", rows, 1, 1, sizeof(int32_t));
  layout.add("token types", "rows (models with token types)", embedding.token_types != absent ? rows : 0, 1, 1, 1);
  layout.add("masks", "rows", rows, 1, 1, 1);
  layout.add("memory starts", "(b + 1) x 8 (cross attention)", memory_rows > 0 ? texts + 1 : 0, 1, 1, sizeof(int64_t));
  layout.add("memory masks", "b m (cross attention)", memory_rows, 1, 1, 1);
  layout.add("memory", "b m d x 4 (cross attention)", memory_rows, encoder.memory_width, 1, f32);
  layout.add("position table", "n d x 4 (sinusoidal positions)", p.table_rows, p.embedding_width, 1, f32);
  layout.add("rows", "rows d x 4", rows, p.d, 1, f32);
  layout.add("second rows", "rows d x 4 (reversible)", reversible ? rows : 0, p.d, 1, f32);
  layout.add("normalized rows", "rows d x 4 (pre-norm)", pre_norm ? rows : 0, p.d, 1, f32);
  layout.add("compressed keys", "b max(k d, k D, short n D, packed K) x 4; full attention: rows D x 4",
             p.packs ? std::max(texts * p.compressed_elements, full) : texts * p.compressed_elements, 1, 1, f32);
  layout.add("compressed values", "as compressed keys",
             p.packs ? std::max(texts * p.compressed_elements, full) : texts * p.compressed_elements, 1, 1, f32);
  layout.add("keys", "b k D x 4", p.packs ? texts * p.key_elements : std::max(texts * p.key_elements, full), 1, 1, f32);
  layout.add("values", "b k D x 4", p.packs ? texts * p.key_elements : std::max(texts * p.key_elements, full), 1, 1,
             f32);
  layout.add("query and context", "threads block max(d, D) x 4", threads, block, p.query_stride, f32);
  layout.add("scores", "threads block max(k, block if full attention) x 4 (one head)", threads, block, p.scores_stride,
             f32);
  layout.add("running softmax", "threads block (head_dim + 3) x 4 (full attention)", threads, block,
             p.context_stride == 0 ? 0 : p.context_stride + 3, f32);
  layout.add("feed-forward", "threads block max(ffn, d) x 4", threads, block, p.ffn_stride, f32);
  layout.add("backend scratch", "threads x what the backend asks", threads, 1,
             round_up(static_cast<int64_t>(p.scratch_bytes), buffer_alignment), 1);
  layout.add("pooled", "b d x 4", texts, p.output_width, 1, f32);
  layout.add("head input", "b d x 4 (heads with a norm or on pairs)", p.paired_stride == 0 ? 0 : p.score_rows,
             p.paired_stride, 1, f32);
  layout.add("head dense", "b inner x 4", p.score_rows, p.head_stride, 1, f32);
  layout.add("logits", "b classes x 4", p.score_rows, p.classes_stride, 1, f32);
  if (!layout.finish()) {
    return Status::error(Code::too_long,
                         "a session of %lld tokens and %lld texts needs more memory than can be addressed: lower "
                         "max_tokens or max_batch",
                         static_cast<long long>(options.max_tokens), static_cast<long long>(texts));
  }
  return {};
}

}  // namespace linformer
