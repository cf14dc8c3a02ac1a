#include "converter/export/source_tensors.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/checked.h"
#include "base/description.h"
#include "base/storage.h"
#include "converter/readers/checkpoint.h"
#include "converter/readers/error.h"
#include "converter/writer/narrow.h"
#include "model/flatbuffers_compat.h"

namespace linformer::convert {

namespace {

// Returns a copy of the numbers, because the verifier of FlatBuffers does not check that they are aligned. `most` is
// the largest number of dimensions that is allowed, and `shown` names the tensor in errors.
std::vector<uint64_t> numbers(const flatbuffers::Vector<uint64_t>* vector, size_t most, const std::string& shown) {
  if (vector == nullptr) return {};
  if (vector->size() > most) fail(shown, " has ", vector->size(), " dimensions, at most ", most, " are possible");
  std::vector<uint64_t> copy(vector->size());
  if (!copy.empty()) std::memcpy(copy.data(), vector->Data(), copy.size() * sizeof(uint64_t));
  return copy;
}

// Consecutive rows of a tensor of the model, and the places of their elements in a tensor of the checkpoint.
struct Piece {
  TensorIndex index;
  const TensorDescription* tensor;
  uint64_t first_row, offset;
  std::vector<uint64_t> shape, strides;  // The shape of the rows, and their strides in the checkpoint's tensor.
};

Piece read_piece(const schema::SourcePiece& in, const Model& model, const std::string& shown) {
  const Array<TensorDescription>& tensors = model.description().tensors;
  if (in.tensor() < 0 || static_cast<size_t>(in.tensor()) >= tensors.size()) {
    fail(shown, " has a piece in tensor ", in.tensor(), " of the model, which has ", tensors.size(), " tensors");
  }
  Piece piece{in.tensor(), &tensors[static_cast<size_t>(in.tensor())], in.first_row(), in.offset(), {}, {}};
  piece.shape = piece.tensor->shape;
  piece.strides = numbers(in.strides(), max_rank, shown);
  if (piece.strides.size() != piece.shape.size()) {
    fail(shown, " has a piece of ", piece.strides.size(), " dimensions in ", quote(piece.tensor->name), ", which has ",
         piece.shape.size());
  }
  if (in.rows() == 0 || !range_within(in.first_row(), in.rows(), piece.shape[0])) {
    fail(shown, " has a piece of ", in.rows(), " rows from row ", in.first_row(), " of ", quote(piece.tensor->name),
         ", which has ", piece.shape[0]);
  }
  piece.shape[0] = in.rows();
  return piece;
}

uint64_t count(const std::vector<uint64_t>& shape) {
  uint64_t elements = 1;
  for (const uint64_t size : shape) elements *= size;
  return elements;
}

void check_place(const Piece& piece, uint64_t elements, const std::string& shown) {
  uint64_t last = piece.offset;
  for (size_t i = 0; i < piece.shape.size(); ++i) {
    uint64_t step = 0;
    if (!checked_mul(piece.shape[i] - 1, piece.strides[i], &step) || !checked_add(last, step, &last)) last = elements;
    if (last >= elements) {
      fail(shown, " has ", elements, " elements, but its piece in ", quote(piece.tensor->name), " reaches further");
    }
  }
}

std::string name_of(const schema::SourceTensor& in, size_t index) {
  const std::string shown = "source tensor " + std::to_string(index);
  if (in.name() == nullptr || in.name()->size() == 0) fail(shown, " has no name");
  if (in.name()->size() > max_tensor_name) fail(shown, " has a name longer than ", max_tensor_name, " bytes");
  std::string name = in.name()->str();
  if (!valid_utf8(name) || name.find('\0') != name.npos) fail(shown, " has a name that is not text");
  // In safetensors files this name is reserved for the metadata.
  if (name == "__metadata__") {
    fail(shown, " is called ", quote(name),
         ", a name that safetensors reserves: rename the tensor in the checkpoint and convert it again");
  }
  return name;
}

SourceTensor read_source(const schema::SourceTensor& in, size_t index, const Model& model, uint64_t most_bytes) {
  SourceTensor source;
  source.name = name_of(in, index);
  const std::string shown = "the tensor " + quote(source.name);
  source.shape = numbers(in.shape(), max_checkpoint_rank, shown);
  source.elements = 1;
  for (const uint64_t size : source.shape) {
    const bool fits = size > 0 && checked_mul(source.elements, size, &source.elements) && source.elements <= most_bytes;
    if (!fits) fail(shown, " has a dimension of ", size, ", which can't be right in a file of this size");
  }
  if (in.pieces() == nullptr || in.pieces()->size() == 0) fail(shown, " has no pieces");
  source.record = &in;
  uint64_t covered = 0;
  bool mixed = false;
  for (uint32_t i = 0; i < in.pieces()->size(); ++i) {
    const Piece piece = read_piece(*in.pieces()->Get(i), model, shown);
    check_place(piece, source.elements, shown);
    if (!checked_add(covered, count(piece.shape), &covered) || covered > source.elements) {
      fail(shown, " has ", source.elements, " elements, but more in its pieces: some overlap");
    }
    if (i == 0) source.type = piece.tensor->type;
    mixed = mixed || piece.tensor->type != source.type || piece.tensor->type == ElementType::int8;
    constexpr size_t shown_pieces = 4;
    if (source.used.size() < shown_pieces) source.used.push_back(piece.index);
  }
  if (mixed) source.type = ElementType::f32;
  return source;
}

// Calls copy(to, from, row) for every element of the piece. `to` is the element's index in the checkpoint's tensor,
// `from` its index in the model's tensor, and `row` its row in the model's tensor.
template <class Copy>
void for_each_element(const Piece& piece, Copy copy) {
  const size_t inner = piece.shape.size() - 1;
  const uint64_t length = piece.shape[inner], inner_stride = piece.strides[inner];
  const uint64_t lines = count(piece.shape) / length;
  const uint64_t first_line = inner == 0 ? 0 : piece.first_row * (lines / piece.shape[0]);
  std::vector<uint64_t> at(piece.shape.size());
  for (uint64_t line = 0; line < lines; ++line) {
    uint64_t to = piece.offset;
    for (size_t i = 0; i < inner; ++i) to += at[i] * piece.strides[i];
    const uint64_t row = first_line + line;
    for (uint64_t i = 0; i < length; ++i, to += inner_stride) {
      const uint64_t from =
          inner == 0 ? piece.first_row + i : element_index(piece.tensor->type, piece.tensor->layout, length, row, i);
      copy(to, from, row);
    }
    for (size_t i = inner; i-- > 0;) {
      if (++at[i] < piece.shape[i]) break;
      at[i] = 0;
    }
  }
}

}  // namespace

std::vector<SourceTensor> read_sources(std::span<const std::byte> metadata, const Model& model) {
  const schema::Model& root = *schema::GetModel(metadata.data());
  if (root.sources() == nullptr || root.sources()->size() == 0) {
    fail(
        "the file does not say where its tensors came from: an older version or another program wrote it, so convert "
        "the checkpoint again with this version");
  }
  const uint64_t most_bytes = model.file_bytes() * export_growth;
  if (root.sources()->size() > max_checkpoint_tensors) {
    fail("the file names ", root.sources()->size(), " source tensors, at most ", max_checkpoint_tensors,
         " are possible");
  }
  std::vector<SourceTensor> sources;
  std::unordered_set<std::string> names;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < root.sources()->size(); ++i) {
    sources.push_back(read_source(*root.sources()->Get(i), i, model, most_bytes));
    if (!names.insert(sources.back().name).second)
      fail("the file lists the source tensor ", quote(sources.back().name), " twice");
    bytes += sources.back().bytes();
    if (bytes > most_bytes) {
      fail("the tensor ", quote(sources.back().name), " brings the checkpoint beyond ", export_growth,
           " times the size of the model file (", model.file_bytes(), " bytes), which can't be right");
    }
  }
  return sources;
}

TensorValues collect_values(const SourceTensor& tensor, const Model& model) {
  TensorValues made;
  made.bytes.resize(tensor.bytes());
  made.missing = tensor.elements;
  std::vector<bool> present(tensor.elements);
  std::byte* const out = made.bytes.data();
  const std::string shown = "the tensor " + quote(tensor.name);
  for (uint32_t i = 0; i < tensor.record->pieces()->size(); ++i) {
    const Piece piece = read_piece(*tensor.record->pieces()->Get(i), model, shown);
    const std::byte* const data = model.data(piece.index);
    const auto mark = [&](uint64_t to) {
      if (present[to]) {
        fail(shown, " gets its element ", to, " twice, the second time from ", quote(piece.tensor->name),
             ": convert the checkpoint again");
      }
      present[to] = true;
      --made.missing;
    };
    if (piece.tensor->type != tensor.type) {
      const ElementType type = piece.tensor->type;
      StoredParts storage;
      const std::vector<uint64_t> shape(piece.tensor->shape);
      if (type == ElementType::int8 &&
          !compute_part_offsets(type, piece.tensor->layout, shape[0], shape[1], &storage)) {
        fail(shown, " has more elements than 64 bits can count");
      }
      for_each_element(piece, [&](uint64_t to, uint64_t from, uint64_t row) {
        mark(to);
        float value = 0;
        if (type == ElementType::int8) {
          std::memcpy(&value, data + storage.scales + row * sizeof value, sizeof value);
          value *= static_cast<float>(static_cast<int8_t>(data[from]));
        } else {
          writer::widen(data + from * static_cast<size_t>(element_bytes(type)), type, {&value, 1});
        }
        std::memcpy(out + to * sizeof value, &value, sizeof value);
      });
    } else if (tensor.type == ElementType::f32) {
      for_each_element(piece, [&](uint64_t to, uint64_t from, uint64_t) {
        mark(to);
        std::memcpy(out + 4 * to, data + 4 * from, 4);
      });
    } else {
      for_each_element(piece, [&](uint64_t to, uint64_t from, uint64_t) {
        mark(to);
        std::memcpy(out + 2 * to, data + 2 * from, 2);
      });
    }
  }
  return made;
}

}  // namespace linformer::convert
