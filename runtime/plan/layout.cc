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

Status lay_out(const ModelDescription& description, Program* program) {
  const SessionOptions& options = program->plan.options;
  const bool pre_norm = description.encoder.norm_placement == NormPlacement::pre;
  const int64_t rows = options.max_rows, texts = options.max_batch, threads = options.threads;
  const int64_t block = program->plan.block_rows;
  constexpr uint64_t f32 = sizeof(float);
  static_assert(buffer_count <= Plan::max_buffers);
  program->query_stride = std::max(program->d, program->attention_width);
  program->ffn_stride = std::max(program->ffn_stride, program->d);
  program->scratch_bytes = program->backend->scratch_bytes();

  Layout layout(&program->plan);
  layout.add("row starts", "(b + 1) x 8", texts + 1, 1, 1, sizeof(int64_t));
  layout.add("token ids", "rows x 4", rows, 1, 1, sizeof(int32_t));
  layout.add("position rows", "rows x 4", rows, 1, 1, sizeof(int32_t));
  layout.add("rows", "rows d x 4", rows, program->d, 1, f32);
  layout.add("normalized rows", "rows d x 4 (pre-norm only)", pre_norm ? rows : 0, program->d, 1, f32);
  layout.add("compressed keys", "b max(k d, k D, short n D, packed K) x 4", texts, program->compressed_elements, 1,
             f32);
  layout.add("compressed values", "b max(k d, k D, short n D, packed V) x 4", texts, program->compressed_elements, 1,
             f32);
  layout.add("keys", "b k D x 4", texts, program->key_elements, 1, f32);
  layout.add("values", "b k D x 4", texts, program->key_elements, 1, f32);
  layout.add("query and context", "threads block max(d, D) x 4", threads, block, program->query_stride, f32);
  layout.add("scores", "threads block k x 4 (one head)", threads, block, program->scores_stride, f32);
  layout.add("feed-forward", "threads block max(ffn, d) x 4", threads, block, program->ffn_stride, f32);
  layout.add("backend scratch", "threads x what the backend asks", threads, 1,
             round_up(static_cast<int64_t>(program->scratch_bytes), buffer_alignment), 1);
  layout.add("pooled", "b d x 4", texts, program->d, 1, f32);
  layout.add("head dense", "b inner x 4", texts, program->head_stride, 1, f32);
  layout.add("logits", "b classes x 4", texts, program->classes_stride, 1, f32);
  if (!layout.finish()) {
    return Status::error(Code::too_long,
                         "a session of %lld tokens and %lld texts needs more memory than can be addressed: lower "
                         "max_tokens or max_batch",
                         static_cast<long long>(options.max_tokens), static_cast<long long>(texts));
  }
  return {};
}

}  // namespace linformer
