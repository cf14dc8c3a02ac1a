// What `linformer tag` says about a text: its entities.
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
  // `entities` are views of `text`; a job with an error has none.
  virtual void write(const Job& job, std::string_view text, std::span<const Entity> entities) = 0;
  // To be called after the last text.
  virtual void finish() {}
};

// Lines, csv and tsv have a row for each entity; a table is the text with its entities in it.
//
// `labels` are all that the model gives: on a terminal each has its colour. `numbered` means that a record's id is its
// number. `width` is the number of columns of the terminal. `output` must outlive the writer.
std::unique_ptr<EntityWriter> make_entity_writer(OutputFormat format, const std::vector<std::string>& labels,
                                                 bool numbered, int width, OutputStream* output);

}  // namespace linformer::cli
