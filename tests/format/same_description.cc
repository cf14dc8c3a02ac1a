#include "format/same_description.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/description.h"
#include "model/description_fields.h"

namespace linformer_test {
namespace {

using namespace linformer;

class Comparison : public FieldVisitor {
 public:
  std::string first;  // the first difference

  template <class T>
  void table(const std::string& path, const T& a, const T& b) {
    const std::string outer = std::exchange(path_, path);
    FieldsOf<T>::visit(*this, a, b);
    path_ = outer;
  }

  template <class T>
  void operator()(const Field& field, const T& a, const T& b) {
    if constexpr (HasFields<T> && !std::is_same_v<T, String>) {
      table(path_ + field.name + ".", a, b);
    } else {
      note(a == b, field.name);
    }
  }
  template <class T>
  void operator()(const Field& field, const Array<T>& a, const Array<T>& b) {
    note(a.size() == b.size(), field.name + std::string(".size"));
    for (size_t i = 0; first.empty() && i < a.size(); ++i) {
      const std::string name = field.name + ("[" + std::to_string(i) + "]");
      if constexpr (HasFields<T>) {
        table(path_ + name + ".", a[i], b[i]);
      } else {
        note(a[i] == b[i], name);
      }
    }
  }
  template <class T>
  void operator()(const Field& field, std::span<const T> a, std::span<const T> b) {
    note(std::equal(a.begin(), a.end(), b.begin(), b.end()), field.name);
  }
  template <class T>
  void optional(const Field& field, std::initializer_list<bool> present, const T& a, const T& b) {
    note(present.begin()[0] == present.begin()[1], field.name);
    if (present.begin()[0] && present.begin()[1]) (*this)(field, a, b);
  }

 private:
  void note(bool same, const std::string& name) {
    if (!same && first.empty()) first = path_ + name;
  }

  std::string path_;
};

}  // namespace

std::string differing_field(const ModelDescription& a, const ModelDescription& b) {
  Comparison comparison;
  comparison.table("", a, b);
  return comparison.first;
}

}  // namespace linformer_test
