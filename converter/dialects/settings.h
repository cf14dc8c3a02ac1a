// The settings of a model: values that the checkpoint's tensors do not show. The user's settings come first, then those
// of the checkpoint itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "converter/readers/value.h"
#include "linformer/convert.h"

namespace linformer::convert {

template <class Type>
struct Setting {
  Type value;
  std::string source;  // Where the value was found, for reports and errors.
};

// The settings of a conversion. They come from several sources, which a lookup searches in the order in which they were
// added. A lookup throws Error if the setting is present with the wrong type. A null counts as absent.
class Settings {
 public:
  // Adds settings of the checkpoint. They are used only if no earlier source has a setting of the same name. `values`
  // is ignored if it is neither a dict nor an object.
  void add_source(Value values, std::string name);
  // Adds the settings of a file that was found beside the checkpoint. misspelling_hint() looks for misspelt names in
  // them.
  void add_found_file(Value values, std::string name);
  // Adds the settings that the user gives for this conversion. misspelling_hint() and unused() look at them. `groups`
  // are keys of `values` whose values hold settings too; these come after the settings at the top of `values`.
  void add_user_settings(Value values, const std::string& name, const std::vector<std::string>& groups = {});
  // Adds the settings that an exported file keeps from its first conversion. All of them count as used, so that another
  // export keeps them too. Otherwise a setting would be lost if the first conversion looked it up for a tensor that the
  // exported file no longer has.
  void add_exported_settings(Value values, std::string name);
  bool empty() const { return sources_.empty(); }

  bool has(std::string_view name) const { return find(name).has_value(); }
  // Returns whether the first source that has the setting gives null for it. It is for settings in which
  // null and absence have different meanings.
  bool is_null(std::string_view name) const;
  std::optional<Setting<int64_t>> integer(std::string_view name) const;
  std::optional<Setting<bool>> flag(std::string_view name) const;
  std::optional<Setting<std::string>> text(std::string_view name) const;
  // Returns a setting of any type, such as a list, or an object such as id2label.
  std::optional<Setting<Value>> value(std::string_view name) const { return find(name); }
  // Returns, as a JSON object, the settings that this object and its copies looked up and found, and those of
  // add_exported_settings(). Values that JSON can't represent, such as bytes, are left out. Throws Error if a
  // value contains itself, or if it contains shared values so often that its JSON text is out of proportion to them.
  std::string used_as_json() const;
  // Returns the settings that the user gave and that neither this object nor one of its copies looked up. Settings
  // whose names resemble a name that was looked up but not given come first.
  std::vector<UnusedSetting> unused() const;
  // Returns a text about misspelt names for the error of a failed conversion, or an empty text if no name looks
  // misspelt. Names that were found or given are compared with those that were looked up, and names that the user gave
  // also with those that any dialect knows (known_settings.h).
  std::string misspelling_hint() const;
  // Returns the names that this object and its copies looked up.
  const std::set<std::string, std::less<>>& looked_up_names() const { return lookups_->asked; }

 private:
  enum class Origin { checkpoint, found, given };  // Where a source comes from; `given` is by the user.
  struct Source {
    Value values;
    std::string name;
    Origin origin;
    std::vector<std::string> groups;  // The keys of `values` that were added as sources of their own.
  };
  // The record of all lookups, which an object and its copies share.
  struct Lookups {
    std::set<std::string, std::less<>> asked;
    std::map<std::string, Value, std::less<>> used;
  };
  void add(Source source);
  std::set<std::string, std::less<>> names_not_given(std::set<std::string, std::less<>> names, Origin least) const;
  template <class Take>
  void for_each_not_looked_up(Origin least, const Take& take) const;
  std::optional<Setting<Value>> find(std::string_view name) const;
  std::vector<Source> sources_;
  std::shared_ptr<Lookups> lookups_ = std::make_shared<Lookups>();
};

}  // namespace linformer::convert
