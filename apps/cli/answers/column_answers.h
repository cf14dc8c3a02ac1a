// A writer of the answers of `linformer classify` as CSV or TSV with a header.
#pragma once

#include "answers/answers.h"

namespace linformer::cli {

// Writes one row for each record. A head that gives one label has the columns label and probability, and with --top-k
// also label_2, probability_2 and so on. A head that gives several labels has the columns labels and probabilities,
// whose entries are separated by commas. A head that gives a score has the column score, and a head that gives values
// has columns called value_NAME. If there are several heads, the name of each column begins with the name of its head.
// If `truths` is true, the record's true label or number has a column too. `heads` and `output` must outlive the
// writer.
std::unique_ptr<AnswerWriter> make_column_answers(bool csv, bool truths, const AnswerOptions& options,
                                                  const std::vector<HeadLabels>* heads, OutputStream* output);

}  // namespace linformer::cli
