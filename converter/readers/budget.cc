#include "converter/readers/budget.h"

#include "converter/readers/error.h"

namespace linformer::convert {

void Budget::admit(uint64_t bytes) {
  admitted_ += bytes;
  memory_.limit += memory_per_byte * bytes;
  steps_.limit += steps_per_byte * bytes;
}

void Budget::admit_file(uint64_t bytes) {
  file_bytes_ += bytes;
  tensors_.limit += tensors_per_byte * bytes;
}

void Budget::fail_memory() const {
  if (memory_.used > most_memory_) {
    fail("what was read so far (", admitted_, " bytes) asks for more than the ", most_memory_,
         " bytes of memory that this conversion may take: allow more, or convert a smaller file");
  }
  fail("what was read so far (", admitted_, " bytes) asks for more than ", memory_.limit,
       " bytes of memory, as no sound file does: save or download it again");
}

void Budget::fail_steps() const {
  fail("what was read so far (", admitted_, " bytes) asks for more than ", steps_.limit,
       " steps of work, as no sound file does: save or download it again");
}

void Budget::fail_reads() const {
  fail("the tensors' data would be read more than ", reads_per_tensor,
       " times, as no sound model needs it: save the model again");
}

void Budget::fail_tensors() const {
  fail("the tensors together hold more than ", tensors_per_byte, " times the file's ", file_bytes_,
       " bytes, as they overlap in their storages: save each of them after .clone()");
}

}  // namespace linformer::convert
