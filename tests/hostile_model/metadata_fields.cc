#include "hostile_model/metadata_fields.h"

#include <fstream>
#include <iterator>

#include "model/flatbuffers_compat.h"
// This must be included after flatbuffers_compat.h, which turns off the library's assertions.
#include <flatbuffers/reflection_generated.h>

namespace linformer_test {
namespace {

size_t bytes_of(reflection::BaseType type) {
  switch (type) {
    case reflection::UType:
    case reflection::Bool:
    case reflection::Byte:
    case reflection::UByte:
      return 1;
    case reflection::Short:
    case reflection::UShort:
      return 2;
    case reflection::Int:
    case reflection::UInt:
    case reflection::Float:
      return 4;
    case reflection::Long:
    case reflection::ULong:
    case reflection::Double:
      return 8;
    default:
      return 0;  // not a scalar
  }
}

bool is_floating(reflection::BaseType type) { return type == reflection::Float || type == reflection::Double; }

class Walk {
 public:
  Walk(const reflection::Schema& schema, const uint8_t* base) : schema_(schema), base_(base) {}

  void table(const std::string& path, const reflection::Object& object, const flatbuffers::Table& table) {
    for (const reflection::Field* field : *object.fields()) {
      const std::string name = path + (path.empty() ? "" : ".") + field->name()->str();
      const reflection::BaseType type = field->type()->base_type();
      const uint8_t* address = table.GetAddressOf(field->offset());
      if (address == nullptr) continue;
      if (const size_t bytes = bytes_of(type); bytes != 0) {
        add(name, address, bytes, is_floating(type), false);
      } else if (type == reflection::String) {
        add(name + ".length", follow(address), 4, false, true);
      } else if (type == reflection::Obj) {
        child(name, field->type()->index(), follow(address));
      } else {
        vector(name, *field->type(), follow(address));
      }
    }
  }

  std::vector<MetadataField> fields;

 private:
  static const uint8_t* follow(const uint8_t* address) {
    return address + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(address);
  }
  void add(const std::string& path, const uint8_t* address, size_t bytes, bool floating, bool length) {
    fields.push_back({path, static_cast<size_t>(address - base_), bytes, floating, length});
  }
  void child(const std::string& name, int index, const uint8_t* address) {
    const auto* object = schema_.objects()->Get(static_cast<flatbuffers::uoffset_t>(index));
    table(name, *object, *reinterpret_cast<const flatbuffers::Table*>(address));
  }
  void vector(const std::string& name, const reflection::Type& type, const uint8_t* address) {
    add(name + ".length", address, 4, false, true);
    const auto count = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(address);
    const size_t scalar = bytes_of(type.element());
    for (size_t i = 0; i < count; ++i) {
      const std::string element = name + "[" + std::to_string(i) + "]";
      const uint8_t* at = address + 4 + i * (scalar != 0 ? scalar : 4);
      if (scalar != 0) {
        add(element, at, scalar, is_floating(type.element()), false);
      } else if (type.element() == reflection::String) {
        add(element + ".length", follow(at), 4, false, true);
      } else {
        child(element, type.index(), follow(at));
      }
    }
  }

  const reflection::Schema& schema_;
  const uint8_t* base_;
};

}  // namespace

std::vector<MetadataField> metadata_fields(std::span<const std::byte> metadata) {
  std::ifstream file(LINFORMER_BINARY_SCHEMA, std::ios::binary);
  const std::vector<char> schema_bytes{std::istreambuf_iterator<char>(file), {}};
  const reflection::Schema& schema = *reflection::GetSchema(schema_bytes.data());
  const auto* base = reinterpret_cast<const uint8_t*>(metadata.data());
  Walk walk(schema, base);
  walk.table("", *schema.root_table(), *flatbuffers::GetRoot<flatbuffers::Table>(base));
  return std::move(walk.fields);
}

}  // namespace linformer_test
