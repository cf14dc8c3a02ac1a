#include "npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/checked.h"
#include "errors.h"

namespace linformer::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "npy elements are copied as they are");

constexpr size_t max_header_bytes = 1 << 16;
constexpr std::string_view magic = "\x93NUMPY";

// The Python literal {'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), } and nothing more general.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  bool parse(std::string* descr, bool* fortran_order, std::vector<int64_t>* shape) {
    bool has_descr = false, has_order = false, has_shape = false;
    if (!take('{')) return false;
    while (!take('}')) {
      std::string key;
      if (!string(&key) || !take(':')) return false;
      if (key == "descr" && !has_descr) {
        has_descr = string(descr);
        if (!has_descr) return false;
      } else if (key == "fortran_order" && !has_order) {
        *fortran_order = word("True");
        has_order = *fortran_order || word("False");
        if (!has_order) return false;
      } else if (key == "shape" && !has_shape) {
        has_shape = tuple(shape);
        if (!has_shape) return false;
      } else {
        return false;
      }
      if (!take(',') && !(space(), position_ < text_.size() && text_[position_] == '}')) return false;
    }
    space();
    return has_descr && has_order && has_shape && position_ == text_.size();
  }

 private:
  void space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }
  bool take(char c) {
    space();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  bool word(std::string_view expected) {
    space();
    if (!text_.substr(position_).starts_with(expected)) return false;
    position_ += expected.size();
    return true;
  }
  bool string(std::string* value) {
    space();
    if (position_ == text_.size() || (text_[position_] != '\'' && text_[position_] != '"')) return false;
    const char quote = text_[position_++];
    const size_t end = text_.find(quote, position_);
    if (end == std::string_view::npos) return false;
    *value = text_.substr(position_, end - position_);
    position_ = end + 1;
    return true;
  }
  bool tuple(std::vector<int64_t>* values) {
    if (!take('(')) return false;
    while (!take(')')) {
      space();
      uint64_t value = 0;
      const size_t start = position_;
      for (; position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9'; ++position_) {
        if (!checked_mul(value, 10, &value) ||
            !checked_add(value, static_cast<uint64_t>(text_[position_] - '0'), &value))
          return false;
      }
      if (position_ == start || value > INT64_MAX) return false;
      values->push_back(static_cast<int64_t>(value));
      if (!take(',') && !(space(), position_ < text_.size() && text_[position_] == ')')) return false;
    }
    return true;
  }

  std::string_view text_;
  size_t position_ = 0;
};

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

NpyIdReader::NpyIdReader(ByteSource* source) : source_(source) {
  const auto damaged = [&](const std::string& what) {
    return DataError(source->name() + ": " + what + "; write it with numpy.save of an int64 array [texts, tokens]");
  };
  char start[8] = {};
  if (source->read(start, 8) != 8 || std::string_view(start, 6) != magic) throw damaged("not an npy file");
  const int version = start[6];
  if (version < 1 || version > 3) throw damaged("unknown npy version " + std::to_string(version));
  unsigned char length_bytes[4] = {};
  const size_t length_size = version == 1 ? 2 : 4;
  if (source->read(reinterpret_cast<char*>(length_bytes), length_size) != length_size) throw damaged("cut short");
  size_t length = 0;
  for (size_t i = length_size; i-- > 0;) length = length << 8 | length_bytes[i];
  if (length > max_header_bytes) throw damaged("npy header of " + std::to_string(length) + " bytes");
  std::string header(length, '\0');
  if (source->read(header.data(), length) != length) throw damaged("cut short");

  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
  if (!HeaderParser(header).parse(&descr, &fortran_order, &shape)) throw damaged("unreadable npy header");
  if (descr != "<i8" && descr != "<i4") throw damaged("element type '" + descr + "' is not int64 or int32");
  if (fortran_order) throw damaged("array in Fortran order");
  if (shape.size() != 2) throw damaged("shape " + shape_text(shape) + " is not [texts, tokens]");
  rows_ = shape[0];
  columns_ = shape[1];
  element_bytes_ = descr == "<i8" ? 8 : 4;
  CheckedSize bytes;
  bytes.add_product(static_cast<uint64_t>(rows_), static_cast<uint64_t>(columns_),
                    static_cast<uint64_t>(element_bytes_));
  bytes.add(8 + length_size + length);
  if (!bytes.valid() || (source->file_bytes() != 0 && bytes.value() != source->file_bytes())) {
    throw damaged("shape " + shape_text(shape) + " does not fit the file's size");
  }
  if (columns_ == 0 && rows_ != 0) throw damaged("texts without tokens");
}

bool NpyIdReader::next(std::vector<int64_t>* row) {
  row->clear();
  if (rows_read_ == rows_) {
    if (source_->get() >= 0) throw DataError(source_->name() + ": bytes after the array's end; the file is damaged");
    return false;
  }
  ++rows_read_;
  char chunk[4096];
  for (int64_t left = columns_; left > 0;) {
    const int64_t count = std::min<int64_t>(left, static_cast<int64_t>(sizeof chunk) / element_bytes_);
    const size_t bytes = static_cast<size_t>(count * element_bytes_);
    if (source_->read(chunk, bytes) != bytes) {
      throw DataError(source_->name() + ": cut short in row " + std::to_string(rows_read_ - 1) + "; write it again");
    }
    for (int64_t i = 0; i < count; ++i) {
      int64_t wide = 0;
      int32_t narrow = 0;
      if (element_bytes_ == 8) {
        std::memcpy(&wide, chunk + i * 8, 8);
      } else {
        std::memcpy(&narrow, chunk + i * 4, 4);
        wide = narrow;
      }
      row->push_back(wide);
    }
    left -= count;
  }
  return true;
}

std::string npy_float_header(std::span<const int64_t> shape) {
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  // 128 bytes hold three dimensions of any size; numpy wants a multiple of 64 and a newline at the end.
  constexpr size_t total = 128, prefix = 10;
  text.resize(total - prefix - 1, ' ');
  text += '\n';
  std::string header(magic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace linformer::cli
