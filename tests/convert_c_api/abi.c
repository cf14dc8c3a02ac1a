/* Prints the sizes of the converter's C structs and of their fields, and its constants: programs depend on them. */
#include <linformer_convert.h>
#include <stdio.h>

#define STRUCT(name) printf("%s %zu\n", #name, sizeof(name))
#define FIELD(name, field) printf("  %s %zu %zu\n", #field, offsetof(name, field), sizeof(((name*)0)->field))
#define CONSTANT(name) printf("%s = %d\n", #name, (int)name)

int main(void) {
  STRUCT(lnf_convert_keep);
  FIELD(lnf_convert_keep, pattern);
  FIELD(lnf_convert_keep, type);
  STRUCT(lnf_convert_options);
  FIELD(lnf_convert_options, size);
  FIELD(lnf_convert_options, checkpoint);
  FIELD(lnf_convert_options, output);
  FIELD(lnf_convert_options, tokenizer);
  FIELD(lnf_convert_options, config);
  FIELD(lnf_convert_options, dialect);
  FIELD(lnf_convert_options, labels);
  FIELD(lnf_convert_options, label_count);
  FIELD(lnf_convert_options, head_kinds);
  FIELD(lnf_convert_options, head_kind_count);
  FIELD(lnf_convert_options, keep);
  FIELD(lnf_convert_options, keep_count);
  FIELD(lnf_convert_options, weight_type);
  FIELD(lnf_convert_options, replace_any);
  FIELD(lnf_convert_options, read_all);
  FIELD(lnf_convert_options, max_memory);
  FIELD(lnf_convert_options, cancel);
  FIELD(lnf_convert_options, progress);
  FIELD(lnf_convert_options, user);
  FIELD(lnf_convert_options, error);
  FIELD(lnf_convert_options, error_capacity);
  STRUCT(lnf_convert_summary);
  FIELD(lnf_convert_summary, size);
  FIELD(lnf_convert_summary, checkpoint);
  FIELD(lnf_convert_summary, output);
  FIELD(lnf_convert_summary, format);
  FIELD(lnf_convert_summary, dialect);
  FIELD(lnf_convert_summary, recognised_by);
  FIELD(lnf_convert_summary, weight_type);
  FIELD(lnf_convert_summary, output_bytes);
  FIELD(lnf_convert_summary, bytes_in_f32);
  FIELD(lnf_convert_summary, rounding_error);
  STRUCT(lnf_convert_entry);
  FIELD(lnf_convert_entry, size);
  FIELD(lnf_convert_entry, name);
  FIELD(lnf_convert_entry, value);
  FIELD(lnf_convert_entry, source);
  FIELD(lnf_convert_entry, note);
  FIELD(lnf_convert_entry, error);
  CONSTANT(LNF_CONVERT_F32);
  CONSTANT(LNF_CONVERT_BF16);
  CONSTANT(LNF_CONVERT_F16);
  CONSTANT(LNF_CONVERT_INT8);
  CONSTANT(LNF_CONVERT_FACTS);
  CONSTANT(LNF_CONVERT_MAPPED);
  CONSTANT(LNF_CONVERT_LEFT_OUT);
  CONSTANT(LNF_CONVERT_NOTES);
  CONSTANT(LNF_CONVERT_CAUTIONS);
  CONSTANT(LNF_CONVERT_UNUSED_SETTINGS);
  CONSTANT(LNF_CONVERT_ROUNDED);
  return 0;
}
