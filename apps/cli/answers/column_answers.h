// What `linformer classify` says about a record, as a row of CSV or TSV under a header.
#pragma once

#include "answers/answers.h"

namespace linformer::cli {

// A record is one row, whatever its head gives: a head that gives one label has the columns label and probability, and
// with --top-k label_2 and probability_2 and so on; one that gives several has labels and probabilities, with commas
// between; a score has score; values have value_NAME. With several heads each column begins with its head's name.
// `truths`: a column has what is true of the record. `heads` and `output` must outlive the writer.
std::unique_ptr<AnswerWriter> make_column_answers(bool csv, bool truths, const AnswerOptions& options,
                                                  const std::vector<HeadLabels>* heads, OutputStream* output);

}  // namespace linformer::cli
