#include "input/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include "command_line/errors.h"
#include "input/bytes/file_kind.h"
#include "models/model_file.h"

namespace linformer::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "little-endian npy elements are copied without conversion");

constexpr size_t max_header_bytes = 1 << 16;

// Parses the header, a Python literal such as {'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }. No other
// literals are accepted.
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
        const uint64_t digit = static_cast<uint64_t>(text_[position_] - '0');
        if (__builtin_mul_overflow(value, uint64_t{10}, &value) || __builtin_add_overflow(value, digit, &value)) {
          return false;
        }
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

DataError damaged(const ByteSource& source, const std::string& what, const char* wanted) {
  return DataError(source.name() + ": " + what + "; write it with numpy.save of " + wanted);
}

// Reads the header of an array with elements of `kind`. If the size of the file is known, it must match the header.
NpyHeader read_header(ByteSource* source, char kind, const char* wanted) {
  const auto bad = [&](const std::string& what) { return damaged(*source, what, wanted); };
  char start[8] = {};
  if (source->read(start, 8) != 8 || std::string_view(start, 6) != npy_magic) throw bad("not an npy file");
  const int version = start[6];
  if (version < 1 || version > 3) throw bad("unknown npy version " + std::to_string(version));
  unsigned char length_bytes[4] = {};
  const size_t length_size = version == 1 ? 2 : 4;
  if (source->read(reinterpret_cast<char*>(length_bytes), length_size) != length_size) throw bad("cut short");
  size_t length = 0;
  for (size_t i = length_size; i-- > 0;) length = length << 8 | length_bytes[i];
  if (length > max_header_bytes) throw bad("the npy header of " + std::to_string(length) + " bytes is too long");
  std::string text(length, '\0');
  if (source->read(text.data(), length) != length) throw bad("cut short");

  NpyHeader header;
  std::string descr;
  bool fortran_order = false;
  if (!HeaderParser(text).parse(&descr, &fortran_order, &header.shape)) throw bad("unreadable npy header");
  if (descr != std::string("<") + kind + "8" && descr != std::string("<") + kind + "4") {
    throw bad("element type '" + descr + "' is not " + (kind == 'i' ? "int64 or int32" : "float32 or float64"));
  }
  if (fortran_order) throw bad("the array is in Fortran order: save numpy.ascontiguousarray(array)");
  header.kind = kind;
  header.element_bytes = descr[2] - '0';
  header.bytes = 8 + length_size + length;
  uint64_t elements = static_cast<uint64_t>(header.element_bytes);
  bool valid = true;
  for (const int64_t extent : header.shape)
    valid = valid && !__builtin_mul_overflow(elements, static_cast<uint64_t>(extent), &elements);
  valid = valid && !__builtin_add_overflow(elements, uint64_t{8} + length_size + length, &elements);
  if (!valid || (source->content_bytes() != 0 && elements != source->content_bytes())) {
    throw bad("shape " + shape_text(header.shape) + " does not fit the file's size");
  }
  return header;
}

// Reads `count` elements of 4 or 8 bytes in small pieces, so that memory grows only with data that exists, and not with
// the count that the header claims.
template <class Wide, class Narrow, class Add>
void read_elements(ByteSource* source, const NpyHeader& header, int64_t count, int64_t row, Add add) {
  char chunk[4096];
  while (count > 0) {
    const int64_t now = std::min<int64_t>(count, static_cast<int64_t>(sizeof chunk) / header.element_bytes);
    const size_t bytes = static_cast<size_t>(now * header.element_bytes);
    if (source->read(chunk, bytes) != bytes) {
      throw DataError(source->name() + ": cut short in row " + std::to_string(row) + "; write it again");
    }
    for (int64_t i = 0; i < now; ++i) {
      if (header.element_bytes == sizeof(Wide)) {
        Wide value;
        std::memcpy(&value, chunk + i * 8, sizeof value);
        add(value);
      } else {
        Narrow value;
        std::memcpy(&value, chunk + i * 4, sizeof value);
        add(value);
      }
    }
    count -= now;
  }
}

void expect_end(ByteSource* source) {
  if (source->get() >= 0) throw DataError(source->name() + ": bytes after the array's end; the file is damaged");
}

constexpr const char* id_array = "an int64 array [texts, tokens]";
constexpr const char* row_array = "a float32 array [rows, columns]";

}  // namespace

NpyIdReader::NpyIdReader(ByteSource* source) : source_(source), header_(read_header(source, 'i', id_array)) {
  if (header_.shape.size() != 2) {
    throw damaged(*source, "shape " + shape_text(header_.shape) + " is not [texts, tokens]", id_array);
  }
  if (columns() == 0 && rows() != 0) throw damaged(*source, "texts without tokens", id_array);
}

bool NpyIdReader::next(std::vector<int64_t>* row) {
  row->clear();
  if (rows_read_ == rows()) {
    expect_end(source_);
    return false;
  }
  read_elements<int64_t, int32_t>(source_, header_, columns(), rows_read_++, [&](auto id) { row->push_back(id); });
  return true;
}

NpyRowReader::NpyRowReader(ByteSource* source) : source_(source), header_(read_header(source, 'f', row_array)) {
  if (header_.shape.size() != 2 || columns() == 0) {
    throw damaged(*source, "shape " + shape_text(header_.shape) + " is not [rows, columns]", row_array);
  }
}

bool NpyRowReader::next(std::vector<float>* row) {
  row->clear();
  if (rows_read_ == rows()) {
    expect_end(source_);
    return false;
  }
  read_elements<double, float>(source_, header_, columns(), rows_read_++,
                               [&](auto value) { row->push_back(static_cast<float>(value)); });
  return true;
}

NpyRows::NpyRows(const std::string& path) {
  ByteSource source(path);
  NpyRowReader reader(&source);
  rows_ = reader.rows();
  columns_ = reader.columns();
  const NpyHeader& header = reader.header();
  const bool whole_floats = header.element_bytes == sizeof(float) && header.bytes % sizeof(float) == 0;
  if (model_access() == Access::map && path != "-" && whole_floats) {
    file_ = std::make_unique<files::MappedFile>(path);
    // A pipe can't be mapped. A compressed file has another size than the array.
    const size_t floats = static_cast<size_t>(rows_) * static_cast<size_t>(columns_);
    if (file_->bytes().size() == header.bytes + floats * sizeof(float)) {
      values_ = {reinterpret_cast<const float*>(file_->bytes().data() + header.bytes), floats};
      return;
    }
    file_.reset();
  }
  for (std::vector<float> row; reader.next(&row);) read_.insert(read_.end(), row.begin(), row.end());
  values_ = read_;
}

NpyVectorReader::NpyVectorReader(ByteSource* source, int64_t width) : source_(source), width_(width) {
  const std::string wanted =
      "a float32 array [vectors, " + std::to_string(width) + "] or [batch, vectors, " + std::to_string(width) + "]";
  header_ = read_header(source, 'f', wanted.c_str());
  const std::vector<int64_t>& shape = header_.shape;
  if ((shape.size() != 2 && shape.size() != 3) || shape.back() != width) {
    throw damaged(*source, "shape " + shape_text(shape) + " is not what the model reads", wanted.c_str());
  }
  items_ = shape.size() == 3 ? shape[0] : 1;
  vectors_ = shape[shape.size() - 2];
  if (vectors_ == 0 && items_ != 0) throw damaged(*source, "no vectors", wanted.c_str());
}

bool NpyVectorReader::next(std::vector<float>* values) {
  values->clear();
  if (items_read_ == items_) {
    expect_end(source_);
    return false;
  }
  read_elements<double, float>(source_, header_, vectors_ * width_, items_read_++,
                               [&](auto value) { values->push_back(static_cast<float>(value)); });
  return true;
}

void check_vector_count(const NpyVectorReader& reader, int64_t limit) {
  if (reader.vectors() <= limit) return;
  throw DataError("--vectors: each item has " + std::to_string(reader.vectors()) + " vectors and at most " +
                  std::to_string(limit) + " are read; cut the items");
}

std::string npy_float_header(std::span<const int64_t> shape) {
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  // 128 bytes are enough for three dimensions of any size. The format requires a multiple of 64 bytes and a newline at
  // the end.
  constexpr size_t total = 128, prefix = 10;
  text.resize(total - prefix - 1, ' ');
  text += '\n';
  std::string header(npy_magic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace linformer::cli
