// Computes the terms of the arena from the operands of a lowered program's ops, in one scan.
#include <algorithm>

#include "base/checked.h"
#include "program/lower.h"

namespace LINFORMER_NAMESPACE {
namespace {

class TermScan {
 public:
  explicit TermScan(Program* program) : program_(*program), arena_(program->arena) {}

  void scan() {
    count_extents();
    for (const Stage& stage : program_.stages) {
      // A stage with extent 0 computes a head that scores each token. Its buffers need one row for each token of a
      // call.
      if (stage.domain == Domain::scored && stage.extent == 0) arena_.set_at_least(Term::scored, program_.extents.rows);
      for (int32_t i = stage.op_begin; i < stage.op_end; ++i) count(program_.ops[static_cast<size_t>(i)]);
    }
    arena_[Term::positions] = program_.sinusoidal.rows;
    count_whole_keys();
    for (int i = 0; i < buffer_count; ++i) {
      const BufferInfo& buffer = info(static_cast<BufferId>(i));
      if (buffer.factors[0] == Term::sequences) program_.slots[i] = arena_.value(buffer.factors[1]);
    }
  }

 private:
  void count_extents() {
    const Extents& extents = program_.extents;
    arena_[Term::sequences] = extents.sequences;
    arena_[Term::starts] = Count(extents.sequences) + 1;
    arena_[Term::rows] = extents.rows;
    arena_[Term::states] = Count(extents.sequences) * extents.encoder_states;
    arena_[Term::threads] = extents.threads;
    arena_[Term::apart] = extents.threads > 1 ? thread_part_gap : 0;
    arena_[Term::block] = extents.block_rows;
    arena_[Term::scored] = extents.sequences;
    for (BufferId buffer : {BufferId::row_starts, BufferId::ids, BufferId::positions, BufferId::masks}) {
      arena_.use(buffer);
    }
    if (program_.states_width == 0) return;
    arena_[Term::d_states] = program_.states_width;
    for (BufferId buffer : {BufferId::state_starts, BufferId::state_masks, BufferId::encoder_states}) {
      arena_.use(buffer);
    }
  }

  void count(const Op& op) {
    Op copy = op;
    for (int i = 0; i < operand_count(op.kind()); ++i) count(operand_of(copy, i).view);
    if (op.is<ops::AddType>()) arena_.use(BufferId::types);
    if (const auto* compress = op.get<ops::Compress>()) {
      const KeyGroup& last = last_of(compress->groups);
      arena_.set_at_least(Term::keys, Count(last.k) * compress->d_head + last.key_offset);
    }
    if (const auto* attend = op.get<ops::Attend>()) count(*attend);
  }

  // The widest view of a buffer with rows determines the leading dimension of all its views. The largest view of a
  // sequence's slot determines the size of the slot.
  void count(const View& view) {
    if (view.buffer == BufferId::count || view.place == Place::source) return;
    arena_.use(view.buffer);
    if (view.place == Place::key_rows) {
      (view.layout == RightLayout::panel16 ? has_whole_panels_ : has_whole_rows_) = true;
      return;
    }
    if (view.place == Place::sequence) {
      arena_.set_at_least(info(view.buffer).factors[1], Count(view.rows) * view.cols);
      return;
    }
    const BufferInfo& buffer = info(view.buffer);
    if (buffer.ld == Term::none) return;
    const int64_t end = view.offset + view.cols;
    const int64_t bytes =
        view.type == ElementType::f32 ? end * element_bytes(view.type) : low_precision_row_bytes(view.type, end);
    arena_.set_at_least(buffer.ld, ceil_div(bytes, static_cast<int64_t>(buffer.element_bytes)));
    if (view.buffer == BufferId::scores) arena_.set_at_least(Term::queries, view.rows);
  }

  const KeyGroup& last_of(const KeyGroups& groups) const { return program_.group(groups, groups.count - 1); }

  // Returns the number of elements in the panels of compressed keys or values of all groups.
  Count panels_of(const ops::Attend& attend) const {
    const KeyGroup& last = last_of(attend.groups);
    return Count(last.panels_offset) + group_panel_elements(attend.d_head, last.k);
  }

  void count(const ops::Attend& attend) {
    const bool panels = attend.keys.layout == RightLayout::panel16;
    if (attend.whole) {
      const int64_t padded = round_up(attend.d_head, panel_width);
      program_.full_width = std::max(program_.full_width, panels ? attend.groups.count * padded : attend.keys.cols);
    } else if (panels) {
      arena_.set_at_least(Term::compressed, panels_of(attend));
    }
    if (attend.short_rows > 0) arena_.set_at_least(Term::keys, Count(attend.short_panels) * attend.groups.count);
  }

  // Sets the terms of whole keys and values. Each sequence's rows begin at a multiple of the panel width.
  void count_whole_keys() {
    const Extents& extents = program_.extents;
    const Count own = larger(extents.rows, Count(extents.sequences) * extents.encoder_states);
    const Count rows =
        (own + Count(panel_width - 1) * extents.sequences).rounded_up(static_cast<uint64_t>(panel_width));
    if (has_whole_panels_) arena_.set_at_least(Term::panels, rows * program_.full_width);
    if (has_whole_rows_) arena_.set_at_least(Term::full, rows * program_.full_width);
  }

  Program& program_;
  Arena& arena_;
  // Whether the program has whole keys and values that lie as panels, and whether it has some that lie as rows.
  bool has_whole_panels_ = false, has_whole_rows_ = false;
};

}  // namespace

void set_arena_terms(Program* program) { TermScan(program).scan(); }

}  // namespace LINFORMER_NAMESPACE
