// Compares the lists of fields with the schema, the enums and FORMAT.md, and tests them by writing and reading.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/description.h"
#include "base/enum_names.h"
#include "converter/writer/metadata.h"
#include "converter/writer/origin_fields.h"
#include "format/same_description.h"
#include "model/flatbuffers_compat.h"
#include "model/read_description.h"
// This must be included after flatbuffers_compat.h, which turns off the library's assertions.
#include <flatbuffers/reflection_generated.h>

namespace linformer_test::fields_test {

using namespace linformer;

namespace {

class BinarySchema {
 public:
  BinarySchema() {
    std::ifstream file(LINFORMER_BINARY_SCHEMA, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }
  const reflection::Schema& operator*() const { return *reflection::GetSchema(bytes_.data()); }
  const reflection::Schema* operator->() const { return &**this; }

 private:
  std::vector<char> bytes_;
};

template <class T>
constexpr reflection::BaseType type_of() {
  if constexpr (std::is_same_v<T, bool>) return reflection::Bool;
  if constexpr (std::is_same_v<T, float>) return reflection::Float;
  if constexpr (std::is_same_v<T, double>) return reflection::Double;
  if constexpr (std::is_same_v<T, String>) return reflection::String;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 1) return reflection::UByte;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
    return std::is_signed_v<T> ? reflection::Int : reflection::UInt;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) return reflection::ULong;
  return reflection::Obj;
}

// Returns the compiler's spelling of the value: "linformer::RowMask::zeroed]", for example, or "(linformer::RowMask)3]"
// if the enum has no such value.
template <auto value>
std::string spelled() {
  const std::string function = __PRETTY_FUNCTION__;
  return function.substr(function.find("value = ") + 8);
}

template <class Enum, size_t... index>
void check_enumerators(std::index_sequence<index...>) {
  const std::vector<std::string> spellings = {spelled<static_cast<Enum>(index)>()...};
  for (size_t i = 0; i < sizeof...(index); ++i) {
    CAPTURE(spellings[i]);
    CHECK(spellings[i].find(std::string("::") + EnumNames<Enum>::all[i]) != std::string::npos);
  }
  CHECK(spelled<static_cast<Enum>(sizeof...(index))>().find(")") != std::string::npos);
}

// Compares a table of the schema with the list of its fields, and in the same way the tables that it refers to.
class SchemaWalk {
 public:
  explicit SchemaWalk(const BinarySchema& schema) : schema_(schema) {}

  std::vector<std::string> rows;  // the rows of FORMAT.md

  template <class T>
  void table() {
    const std::string name = FieldsOf<T>::table;
    if (std::exchange(seen_[name], true)) return;
    const auto* object = schema_->objects()->LookupByKey(("linformer.schema." + name).c_str());
    CAPTURE(name);
    REQUIRE(object != nullptr);
    const size_t row = rows.size();
    rows.push_back("| `" + name + "` | ");
    std::vector<std::string> parts;
    SchemaWalk::Table visitor{*this, *object, parts};
    const T plain{};
    FieldsOf<T>::visit(visitor, plain);
    CHECK(visitor.index == object->fields()->size());
    for (const std::string& part : parts) rows[row] += (&part == &parts[0] ? "" : ", ") + part;
    rows[row] += " |";
  }

 private:
  struct Table {
    SchemaWalk& walk;
    const reflection::Object& object;
    std::vector<std::string>& parts;
    size_t index = 0;

    const reflection::Field& next(const Field& field) {
      CAPTURE(field.name);
      const reflection::Field* found = object.fields()->LookupByKey(field.name);
      REQUIRE(found != nullptr);
      CHECK(found->id() == index++);
      return *found;
    }

    template <class T>
    void operator()(const Field& field, const T& plain) {
      const reflection::Field& found = next(field);
      CAPTURE(field.name);
      CHECK(!found.deprecated());
      parts.push_back("`" + std::string(field.name) + "`");
      member(field, *found.type(), plain);
      if constexpr (std::is_floating_point_v<T>) CHECK(static_cast<T>(found.default_real()) == plain);
      if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
        CHECK(found.default_integer() == static_cast<int64_t>(plain));
      }
    }
    template <class T>
    void optional(const Field& field, std::initializer_list<bool>, const T& plain) {
      (*this)(field, plain);
    }
    void origin_field(const Field& field) {
      const reflection::Field& found = next(field);
      parts.push_back("`" + std::string(field.name) + "`");
      if (std::string(field.name) == "sources") {
        list<writer::SourceTensor>(*found.type());
      } else {
        CHECK(found.type()->base_type() == reflection::String);
      }
    }

    template <class T>
    void member(const Field&, const reflection::Type& type, const T&) {
      if constexpr (std::is_enum_v<T>) {
        CHECK(type.base_type() == reflection::UByte);
        walk.template enumeration<T>(type.index());
      } else {
        CHECK(type.base_type() == type_of<T>());
        if constexpr (type_of<T>() == reflection::Obj) child<T>(type);
      }
    }
    template <class T>
    void member(const Field& field, const reflection::Type& type, const Array<T>&) {
      list<T>(type);
      const bool of_origin = std::string(object.name()->str()).find(".Source") != std::string::npos;
      CHECK((field.limit > 0 || of_origin));
    }
    template <class T>
    void member(const Field& field, const reflection::Type& type, std::span<const T>) {
      CHECK(field.limit == 0);
      list<T>(type);
    }
    template <class T>
    void list(const reflection::Type& type) {
      CHECK(type.base_type() == reflection::Vector);
      if constexpr (HasFields<T>) {
        CHECK(type.element() == reflection::Obj);
        child<T>(type);
      } else {
        CHECK(type.element() == type_of<T>());
      }
    }
    template <class T>
    void child(const reflection::Type& type) {
      const auto* target = walk.schema_->objects()->Get(static_cast<flatbuffers::uoffset_t>(type.index()));
      CHECK(target->name()->str() == std::string("linformer.schema.") + FieldsOf<T>::table);
      walk.template table<T>();
    }
  };

  template <class Enum>
  void enumeration(int index) {
    const reflection::Enum& found = *schema_->enums()->Get(static_cast<flatbuffers::uoffset_t>(index));
    CHECK(found.name()->str() == std::string("linformer.schema.") + EnumNames<Enum>::type_name);
    REQUIRE(found.values()->size() == enum_count<Enum>);
    for (unsigned i = 0; i < enum_count<Enum>; ++i) {
      const std::string name = found.values()->Get(i)->name()->str();
      CHECK(found.values()->Get(i)->value() == i);
      CHECK((name == "i8" ? "int8" : name) == EnumNames<Enum>::all[i]);  // int8 is a keyword of the schema's language
    }
    check_enumerators<Enum>(std::make_index_sequence<enum_count<Enum>>());
  }

  const BinarySchema& schema_;
  std::map<std::string, bool> seen_;
};

// Gives every field a different value, which is not its default. Lists get `length` entries.
class Filling {
 public:
  explicit Filling(size_t length) : length_(length) {}

  template <class T>
  void operator()(const Field&, T& out) {
    ++count_;
    if constexpr (std::is_same_v<T, bool>) {
      out = !out;
    } else if constexpr (std::is_enum_v<T>) {
      const unsigned next = (static_cast<unsigned>(out) + 1 + count_ % (enum_count<T> - 1)) % enum_count<T>;
      out = static_cast<T>(next == static_cast<unsigned>(T{}) ? (next + 1) % enum_count<T> : next);
    } else if constexpr (std::is_arithmetic_v<T>) {
      out = static_cast<T>(count_);
    } else if constexpr (std::is_same_v<T, String>) {
      out = "text " + std::to_string(count_);
    } else {
      FieldsOf<T>::visit(*this, out);
    }
  }
  template <class T>
  void operator()(const Field& field, Array<T>& out) {
    out.resize(length_);
    for (T& item : out) {
      if constexpr (HasFields<T>) {
        FieldsOf<T>::visit(*this, item);
      } else {
        (*this)(field, item);
      }
    }
  }
  template <class T>
  void operator()(const Field&, std::span<const T>& out) {
    static const T values[] = {T{1}, T{2}, T{3}, T{4}, T{5}};
    out = std::span<const T>(values).first(1 + ++count_ % 5);
  }
  template <class T>
  void optional(const Field& field, std::initializer_list<bool>, T& out) {
    if constexpr (std::is_same_v<T, SentenceEmbedding>) out.present = true;
    (*this)(field, out);
  }
  static void origin_field(const Field&) {}

 private:
  size_t length_, count_ = 0;
};

std::string read_back(const ModelDescription& description, ModelDescription* out) {
  const std::vector<std::byte> metadata = writer::serialize_metadata(description);
  std::vector<uint64_t> aligned(metadata.size() / 8 + 9);
  std::byte* bytes = reinterpret_cast<std::byte*>(aligned.data());
  while (reinterpret_cast<uintptr_t>(bytes) % 64 != 0) bytes += 8;
  std::copy(metadata.begin(), metadata.end(), bytes);
  const Status status = read_description({bytes, metadata.size()}, metadata.size(), out);
  if (!status.ok()) return status.message();
  return linformer_test::differing_field(*out, description);
}

}  // namespace

TEST_CASE("the lists of fields equal those of the schema and of FORMAT.md") {
  const BinarySchema schema;
  SchemaWalk walk(schema);
  walk.table<ModelDescription>();
  CHECK(walk.rows.size() == schema->objects()->size());
  std::ifstream format(LINFORMER_FORMAT_DOCUMENT);
  REQUIRE(format);
  std::vector<std::string> listed;
  bool in_section = false;
  for (std::string line; std::getline(format, line);) {
    if (line.starts_with("## ")) in_section = line == "## Fields";
    if (in_section && line.starts_with("| `")) listed.push_back(line);
  }
  REQUIRE(listed.size() == walk.rows.size());
  for (size_t i = 0; i < listed.size(); ++i) CHECK(listed[i] == walk.rows[i]);
}

TEST_CASE("every field is written, read and compared") {
  for (const size_t length : {0, 1, 3}) {
    CAPTURE(length);
    ModelDescription description, read;
    Filling filling(length);
    FieldsOf<ModelDescription>::visit(filling, description);
    CHECK(read_back(description, &read) == "");
    CHECK(read.embedding.present);
    CHECK(read.has_decoder() == (length > 0));
    CHECK(linformer_test::differing_field(description, ModelDescription()) == "producer");
  }
}

TEST_CASE("a description of defaults is read back as it was") {
  ModelDescription read;
  CHECK(read_back(ModelDescription(), &read) == "");
  CHECK(!read.embedding.present);
  CHECK(!read.has_decoder());
}

}  // namespace linformer_test::fields_test
