// Tests linformer-convert as a program when memory runs out.
#include <algorithm>

#include "converter/workplace.h"

namespace linformer_test::program_test {

// AddressSanitizer and ThreadSanitizer reserve more address space than this test allows the program.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("too little memory is reported in one sentence, and no file is left behind") {
  Workplace place;
  write_file(place.path("c.pt"), checkpoint_with_head(2));
  write_file(place.path("vocab.txt"), "");
  std::filesystem::resize_file(place.path("vocab.txt"), 100 << 20);
  const std::string arguments =
      place.path("c.pt") + " --tokenizer " + place.path("vocab.txt") + " -o " + place.path("x.lnfr");
  for (const char* option : {"", " --json"}) {
    const Run run = place.run_limited(80 << 10, arguments + option);
    CAPTURE(run.err);
    CHECK(run.status == 1);
    CHECK(run.err.starts_with("linformer-convert: there is not enough memory"));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    CHECK(contains(run.out, "not enough memory") == (*option != '\0'));
    CHECK(place.entry_count() == 2);
  }
}
#endif

}  // namespace linformer_test::program_test
