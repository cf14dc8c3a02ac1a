#include "reference/description_json.h"

#include <type_traits>

#include "base/description.h"
#include "base/enum_names.h"
#include "model/description_fields.h"
#include "session/reference.h"

namespace linformer_test {
namespace {

using namespace linformer;
using nlohmann::json;

template <class T>
json of(const T& in);

// Fills a JSON object. Enumerators become their names, lists and views become arrays, and missing parts become null.
class JsonVisitor : public FieldVisitor {
 public:
  json result = json::object();

  template <class T>
  void operator()(const Field& field, const T& in) {
    result[field.name] = of(in);
  }
  template <class T>
  void operator()(const Field& field, std::span<const T> in) {
    result[field.name] = std::vector<T>(in.begin(), in.end());
  }
  template <class T>
  void operator()(const Field& field, const Array<T>& in) {
    json& array = result[field.name] = json::array();
    for (const T& item : in) array.push_back(of(item));
  }
  template <class T>
  void optional(const Field& field, std::initializer_list<bool> present, const T& in) {
    result[field.name] = *present.begin() ? of(in) : json(nullptr);
  }
};

template <class T>
json of(const T& in) {
  if constexpr (std::is_enum_v<T>) {
    return enum_name(in);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, String>) {
    return in;
  } else {
    JsonVisitor visitor;
    FieldsOf<T>::visit(visitor, in);
    return visitor.result;
  }
}

}  // namespace

json description_json(const Model& model, std::vector<float>* numbers) {
  const ModelDescription& description = model.description();
  json result = of(description);
  for (size_t i = 0; i < description.tensors.size(); ++i) {
    result["tensors"][i]["offset"] = numbers->size();  // The offset in `numbers`, not in the file.
    for (double value : reference_tensor(model, static_cast<TensorIndex>(i))) {
      numbers->push_back(static_cast<float>(value));
    }
  }
  return result;
}

}  // namespace linformer_test
