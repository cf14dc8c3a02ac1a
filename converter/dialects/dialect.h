// The interface of a dialect. A dialect recognises the checkpoints of one public implementation by the names of their
// tensors, and converts them.
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
  int score = 0;       // 0 if the checkpoint is not of this dialect. The dialect with the highest score is taken.
  std::string reason;  // Names the tensors that were found or, if the score is 0, those that were looked for.
};

// The inputs of one conversion, and the description and report that the dialect fills.
struct Conversion {
  const Checkpoint& checkpoint;
  // The settings from --config and from files beside the checkpoint. A dialect adds the checkpoint's own to a copy.
  const Settings& user_settings;
  WeightWriter& weights;
  ModelDescription& description;  // The dialect fills the encoder and the heads, and `weights` fills the tensors.
  Report& report;
};

// The description of a dialect in the list that supported_dialects() returns.
struct DialectFacts {
  const char* summary;  // A single line.
  const char* source;   // The URL of the repository, perhaps with a remark.
  std::vector<NeededSetting> needs;
};

// A dialect has no state, so several threads may use it at once.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual const char* name() const = 0;
  virtual DialectFacts facts() const = 0;
  virtual Recognition recognise(const Checkpoint& checkpoint) const = 0;
  // Returns whether a model of this dialect may be looked for below a prefix, among other tensors. A dialect that is
  // recognised by a single table returns false, because models of other kinds have such tables too.
  virtual bool may_be_below_prefix() const { return true; }
  // Called if only the tensors below `prefix` fit the dialect. Throws Error if the other tensors look like further
  // parts of the same model, which the user can name by settings.
  virtual void check_tensors_outside_prefix(const Checkpoint& /*checkpoint*/, const std::string& /*prefix*/) const {}
  // Returns whether the setting `linformer` may change the layers of an encoder of this dialect
  // (linearised/linearised.h). A dialect returns true only if each layer of its encoders has full or windowed attention
  // over its own rows, so that projections[0], of kind none, is the only projection.
  virtual bool may_be_linearised() const { return false; }
  // Fills the description and the report. Throws Error if the checkpoint has a tensor whose use the dialect doesn't
  // know, or if a setting asks for something that the dialect does not support.
  virtual void convert(Conversion& conversion) const = 0;
};

// Returns all dialects. If several have the same score, the first of them is taken. New dialects are added to the list
// in registry.cc.
std::span<const Dialect* const> dialects();
// Returns the dialect called `name`, or null if there is none.
const Dialect* find_dialect(std::string_view name);
// Returns the names of all dialects, separated by commas.
std::string names_of_dialects();
// Returns an error message which says that no dialect is called `name`, and lists the names of all dialects.
std::string unknown_dialect_message(std::string_view name);

// Returns the dialect of the checkpoint. If `wanted` is not empty, it is the dialect of that name. Otherwise it is the
// dialect that the metadata of an exported file names, if that dialect fits the tensors, and else the dialect with the
// highest score. If the settings name an encoder (own_model/own_model.h), only its tensors have to fit. If all tensor
// names begin with a prefix that the dialect doesn't know, the prefix's length is stored in checkpoint.wrapper. If only
// the tensors below a prefix fit, the others are removed (model_prefix.h). `settings` are the user's. Throws Error if
// no dialect fits, or if the dialect `wanted` does not; the error says which tensors were looked for or found.
const Dialect& recognise(Checkpoint& checkpoint, const std::string& wanted, const Settings& settings, Report& report);

}  // namespace linformer::convert
