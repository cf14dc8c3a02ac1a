#include "converter/readers/budget.h"

#include "converter/readers/error.h"

namespace linformer::convert {

void Budget::raise_limits(uint64_t bytes) {
  structure_bytes_ += bytes;
  memory_.limit += memory_per_byte * bytes;
  steps_.limit += steps_per_byte * bytes;
}

void Budget::raise_tensor_limit(uint64_t bytes) {
  file_bytes_ += bytes;
  tensors_.limit += tensors_per_byte * bytes;
}

void Budget::fail_memory() const {
  if (memory_.used > most_memory_) {
    fail("the input (", structure_bytes_, " bytes so far) needs more than the ", most_memory_,
         " bytes of memory that this conversion may take: allow more, or convert a smaller file");
  }
  fail("the input (", structure_bytes_, " bytes so far) needs more than ", memory_.limit,
       " bytes of memory, which no valid file does: save or download it again");
}

void Budget::fail_steps() const {
  fail("the input (", structure_bytes_, " bytes so far) needs more than ", steps_.limit,
       " steps of work, which no valid file does: save or download it again");
}

void Budget::fail_reads() const {
  fail("the data of the tensors would be read more than ", reads_per_tensor,
       " times, which no valid model needs: save the model again");
}

void Budget::fail_tensors() const {
  fail("the tensors together hold more than ", tensors_per_byte, " times the file's ", file_bytes_,
       " bytes, because they overlap in their storages: save each of them after .clone()");
}

}  // namespace linformer::convert
