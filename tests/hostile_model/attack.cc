#include "hostile_model/attack.h"

#include <doctest/doctest.h>

#include <string>

#include "converter/writer/metadata.h"
#include "hostile_model/alteration.h"
#include "hostile_model/hostile_file.h"

namespace linformer_test {

using namespace linformer;

void run_attacks(const char* kind, std::span<const Attack> attacks) {
  HostileFile file;
  Outcome outcome(kind);
  for (const Attack& attack : attacks) {
    CAPTURE(std::string(attack.name));
    TinyModel tiny;
    tiny.builder.serialize();  // fills in the offsets
    attack.apply(tiny.builder.description);
    const writer::AlignedBytes bytes = assemble(writer::serialize_metadata(tiny.builder.description), file.tensors());
    const int64_t errors = outcome.errors();
    outcome.load(bytes, {Verify::never, 0}, [&] { return std::string(attack.name); });
    const bool expect_error = attack.sentence[0] != '\0';
    CAPTURE(outcome.message());
    CHECK((outcome.errors() > errors) == expect_error);
    CHECK(outcome.message().find(attack.sentence) != std::string::npos);
  }
}

}  // namespace linformer_test
