// Writes the golden model of a precision to a path, or prints the hex dump of a file in the form of schema/FORMAT.md.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "format/tiny_model.h"

using namespace linformer;

namespace {

void dump(const std::vector<unsigned char>& bytes, size_t begin, size_t end) {
  for (size_t row = begin; row < end; row += 16) {
    std::printf("%06zx ", row);
    for (size_t i = row; i < row + 16 && i < bytes.size(); ++i) std::printf(" %02x", bytes[i]);
    std::printf("  ");
    for (size_t i = row; i < row + 16 && i < bytes.size(); ++i) {
      std::printf("%c", bytes[i] >= 0x20 && bytes[i] < 0x7f ? bytes[i] : '.');
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}) {
    if (argc != 3 || std::strcmp(argv[1], name_of(type)) != 0) continue;
    linformer_test::TinyModel model(type);
    model.set_every_field();
    model.builder.write(argv[2]);
    return 0;
  }
  if (argc == 5 && std::strcmp(argv[1], "--dump") == 0) {
    std::ifstream file(argv[2], std::ios::binary);
    const std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(file), {}};
    dump(bytes, std::strtoul(argv[3], nullptr, 0), std::strtoul(argv[4], nullptr, 0));
    return 0;
  }
  std::fprintf(stderr, "usage: %s f32|bf16|f16|int8 OUTPUT | --dump FILE FIRST END\n", argv[0]);
  return 2;
}
