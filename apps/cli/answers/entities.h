// Writers of the entities that `linformer tag` finds in texts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "answers/output.h"
#include "linformer/tagger.h"
#include "models/job.h"

namespace linformer::cli {

class EntityWriter {
 public:
  virtual ~EntityWriter() = default;
  // The texts of `entities` are views of `text`. If the job has an error, `entities` must be empty.
  virtual void write(const Job& job, std::string_view text, std::span<const Entity> entities) = 0;
  // Must be called after the last text.
  virtual void finish() {}
};

// The formats lines, csv and tsv have a row for each entity. A table shows each text with its entities marked.
//
// `labels` are all labels of the model; they determine the colours of a table on a terminal. If `numbered` is true, the
// records have no ids of their own and their numbers are printed as ids. `width` is the number of columns of the
// terminal. `output` must outlive the writer.
std::unique_ptr<EntityWriter> make_entity_writer(OutputFormat format, const std::vector<std::string>& labels,
                                                 bool numbered, int width, OutputStream* output);

}  // namespace linformer::cli
