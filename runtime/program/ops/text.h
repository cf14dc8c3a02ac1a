// The context in which the text of an op in a listing is written.
#pragma once

#include <cstddef>

#include "base/description.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

// Text in a buffer of a fixed size. Text that doesn't fit is cut off.
class FixedText {
 public:
  FixedText(char* room, size_t size) : room_(room), size_(size) { room_[0] = '\0'; }
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...);

 private:
  char* room_;
  size_t size_, used_ = 0;
};

namespace ops {

// A sequence of `rows` rows, the stage that an op belongs to, and the text that the op is written to.
class TextContext {
 public:
  TextContext(const Program& program, const ModelDescription& description, const Stage& stage, int64_t rows,
              int64_t states, FixedText* text);

  FixedText& text() { return text_; }
  const Program& program() const { return program_; }
  int64_t source_rows() const { return source_; }  // The rows that the sequence's keys are computed from.

  // Returns how many rows of E are multiplied.
  int64_t rows_of_e(const View& e) const {
    return stage_.domain == Domain::compressed_rows ? stage_.compressed_row_count(source_) : e.rows;
  }

  // Writes a view as "name[rows, columns] type".
  void write_view(const View& view);
  const char* tensor_name(const View& view) const {
    return description_.tensors[static_cast<size_t>(view.tensor)].name.c_str();
  }
  static const char* type_name(const View& view);  // Returns "" for f32, and otherwise a space and the type's name.

 private:
  int64_t shown_rows(const View& view) const;
  const char* source_name() const;

  const Program& program_;
  const ModelDescription& description_;
  const Stage& stage_;
  const int64_t rows_;
  const int64_t source_;
  FixedText& text_;
};

}  // namespace ops
}  // namespace LINFORMER_NAMESPACE
