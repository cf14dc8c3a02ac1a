// A dialect: one public implementation of Linformer, as a table of names, facts and settings.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/description.h"
#include "converter/dialects/settings.h"
#include "converter/dialects/weights.h"
#include "converter/readers/checkpoint.h"
#include "linformer/convert.h"

namespace linformer::convert {

struct Recognition {
  int score = 0;       // 0: not this dialect; the highest wins
  std::string reason;  // what was found, or what was looked for in vain
};

// What a dialect is given, and what it fills.
struct Conversion {
  const Checkpoint& checkpoint;
  const Settings& user_settings;  // from --config; the dialect adds what the checkpoint itself says
  WeightWriter& weights;
  ModelDescription& description;  // encoder, heads and dialect; tensors come from `weights`
  Report& report;
};

// What supported_dialects() says of it.
struct DialectFacts {
  const char* summary;  // one line
  const char* source;   // the repository
  std::vector<NeededSetting> needs;
};

// Stateless and thread-safe.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual const char* name() const = 0;
  virtual DialectFacts facts() const = 0;
  virtual Recognition recognise(const Checkpoint& checkpoint) const = 0;
  // Whether such a model may be one of several parts of a file. A single table may not: other models have tables too.
  virtual bool lies_below_prefixes() const { return true; }
  // Throws Error where tensors beside those below `prefix`, which are the dialect's, are parts of one model with them
  // that settings could name.
  virtual void check_beside(const Checkpoint& /*checkpoint*/, const std::string& /*prefix*/) const {}
  // Whether the setting `linformer` may change the layers of an encoder of this dialect (linearised/linearised.h). A
  // dialect returns true only if all layers of its encoders attend to their own rows, whole or by a window, with
  // projections[0].
  virtual bool may_be_linearised() const { return false; }
  // Throws Error for whatever it can't account for exactly.
  virtual void convert(Conversion& conversion) const = 0;
};

// All dialects, in order of preference among equal scores. A new one is added in registry.cc.
std::span<const Dialect* const> dialects();
// Null where there is none of that name.
const Dialect* find_dialect(std::string_view name);
// Returns the names of all dialects, with commas between.
std::string names_of_dialects();
// Returns an error message which says that no dialect is called `name`, and lists the names of all dialects.
std::string unknown_dialect(std::string_view name);

// The dialect of the checkpoint: `wanted`, which must fit; where that is empty the one that an exported file names, if
// that fits, or else the one that fits best. Sets checkpoint.wrapper to what all names begin with and the dialect's
// don't; leaves out tensors beside the model (model_prefix.h). `settings` are those of the user. Throws Error that says
// what was found and what is supported.
const Dialect& recognise(Checkpoint& checkpoint, const std::string& wanted, const Settings& settings, Report& report);

}  // namespace linformer::convert
