#include "program/ops/text.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace LINFORMER_NAMESPACE {

void FixedText::add(const char* format, ...) {
  if (used_ + 1 >= size_) return;
  va_list arguments;
  va_start(arguments, format);
  const int written = std::vsnprintf(room_ + used_, size_ - used_, format, arguments);
  va_end(arguments);
  if (written > 0) used_ = std::min(used_ + static_cast<size_t>(written), size_ - 1);
}

namespace ops {

TextContext::TextContext(const Program& program, const ModelDescription& description, const Stage& stage, int64_t rows,
                         int64_t states, FixedText* text)
    : program_(program),
      description_(description),
      stage_(stage),
      rows_(rows),
      source_(stage.key_rows.reads_states(states > 0) ? states : rows),
      text_(*text) {}

const char* TextContext::type_name(const View& view) {
  constexpr const char* types[] = {"", " bf16", " f16", " int8"};
  return types[static_cast<int>(view.type)];
}

const char* TextContext::source_name() const {
  const KeyRows& key_rows = stage_.key_rows;
  if (key_rows.source == KeySource::encoder_states_or_own) return "rows or encoder states";
  return key_rows.source == KeySource::encoder_states ? "encoder states" : info(key_rows.own.buffer).name;
}

// Returns the number of rows that a listing shows for a view.
int64_t TextContext::shown_rows(const View& view) const {
  // A slot may have room for more rows than this sequence has.
  const bool is_larger = view.place == Place::sequence && (stage_.domain == Domain::source_rows || stage_.beside.k > 0);
  if (view.rows != 0 && !is_larger) return view.rows;
  // At least one row is shown, even if a sequence counts half a row.
  return std::max<int64_t>(1, static_cast<int64_t>(rows_for_sequence(stage_, rows_, source_, 1)));
}

void TextContext::write_view(const View& v) {
  const char* type = type_name(v);
  const long long rows = static_cast<long long>(shown_rows(v)), cols = static_cast<long long>(v.cols);
  if (v.place == Place::weight) {
    text_.add("%s[%lld, %lld]%s%s", tensor_name(v), rows, cols, type,
              v.layout == RightLayout::panel16 ? " panel16" : "");
  } else if (v.place == Place::output) {
    text_.add("the caller's[%lld, %lld]", rows, cols);
  } else if (v.place == Place::source) {
    text_.add("%s[%lld, %lld]", source_name(), static_cast<long long>(source_), cols);
  } else if (v.present()) {
    text_.add("%s[%lld, %lld]%s", info(v.buffer).name, rows, cols, type);
    if (v.place == Place::block && v.offset > 0) text_.add(" from column %lld", static_cast<long long>(v.offset));
  }
}

}  // namespace ops
}  // namespace LINFORMER_NAMESPACE
