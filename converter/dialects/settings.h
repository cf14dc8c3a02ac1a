// The settings of a model, which a checkpoint does not show by its tensors: from --config first, then from the
// checkpoint itself.
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
  std::string source;  // for the report
};

// Lookups throw Error when a setting is present with the wrong type. A null counts as absent.
class Settings {
 public:
  // Later sources are asked only for what earlier ones lack. A value that is not a dict or object is ignored.
  void add_source(Value values, std::string name);
  // The same for a file of settings that was found beside the checkpoint: misspelling() looks at it.
  void add_found(Value values, std::string name);
  // The same for what the user gives for this conversion: unused() tells of it too. `groups`: names in `values` below
  // which there are settings too, asked for after those at the top.
  void add_given(Value values, const std::string& name, const std::vector<std::string>& groups = {});
  // The same for the settings that an exported file keeps from its first conversion. All of them count as used: what
  // the first conversion asked for because of a tensor that is gone now is kept nevertheless.
  void add_kept(Value values, std::string name);
  bool empty() const { return sources_.empty(); }

  bool has(std::string_view name) const { return find(name).has_value(); }
  // Whether the first source that has the name says null, where that is not the same as nothing.
  bool is_null(std::string_view name) const;
  std::optional<Setting<int64_t>> integer(std::string_view name) const;
  std::optional<Setting<bool>> flag(std::string_view name) const;
  std::optional<Setting<std::string>> text(std::string_view name) const;
  // Lists, and objects such as id2label.
  std::optional<Setting<Value>> value(std::string_view name) const { return find(name); }
  // Every setting that was asked for and found, as a JSON object: by this and by all its copies. Throws Error where one
  // holds itself, or shares values until its text is out of all proportion to them.
  std::string used() const;
  // What the user gave and nothing asked for, here or in a copy: first those that look like a name that was asked for
  // and not given.
  std::vector<UnusedSetting> unused() const;
  // Of a conversion that fails: a sentence with the names in files of settings that look like misspellings of one that
  // was asked for, or in the user's file of one that any dialect knows (known_settings.h); empty where there are none.
  std::string misspelling() const;
  // Names that were asked for, by this and by all its copies.
  const std::set<std::string, std::less<>>& asked() const { return lookups_->asked; }

 private:
  enum class Origin { checkpoint, found, given };
  struct Source {
    Value values;
    std::string name;
    Origin origin;
    std::vector<std::string> groups;  // names in `values` that are sources of their own
  };
  // What copies share.
  struct Lookups {
    std::set<std::string, std::less<>> asked;
    std::map<std::string, Value, std::less<>> used;
  };
  void add(Source source);
  std::set<std::string, std::less<>> not_given(std::set<std::string, std::less<>> names, Origin least) const;
  template <class Take>
  void for_each_unasked(Origin least, const Take& take) const;
  std::optional<Setting<Value>> find(std::string_view name) const;
  std::vector<Source> sources_;
  std::shared_ptr<Lookups> lookups_ = std::make_shared<Lookups>();
};

}  // namespace linformer::convert
