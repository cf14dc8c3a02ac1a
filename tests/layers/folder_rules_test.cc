// Tests with invented files that each rule between folders finds violations.
#include "layers/folder_rules.h"

#include <doctest/doctest.h>

namespace linformer_test::folder_rules_test {
namespace {

TEST_CASE("the converter may include only itself and the runtime") {
  CHECK(check_converter("converter/x.cc", "#include \"converter/readers/value.h\"\n#include <vector>\n").empty());
  CHECK(check_converter("converter/x.cc", "#include \"model/limits.h\"\n#include \"linformer/model.h\"\n").empty());
  for (const char* source :
       {"#include \"files/endings.h\"\n", "#include \"input_files/lost_file.h\"\n", "#include \"usage.h\"\n",
        "#include \"apps/common/usage.h\"\n", "#include \"terminal/shown_text.h\"\n", "#include <CLI/CLI.hpp>\n",
        "#include <iostream>\n", "  # include <signal.h>\n", "#include \"session/state.h\"\n"}) {
    CAPTURE(source);
    CHECK(check_converter("converter/x.cc", source).size() == 1);
  }
}

TEST_CASE("only the converter's C API may include the runtime's C API") {
  const char* source = "#include \"c_api/handles.h\"\n";
  CHECK(check_converter("converter/c_api/x.cc", source).empty());
  CHECK(check_converter("converter/x.cc", source).size() == 1);
  CHECK(check_converter("converter/c_api/x.cc", "#include \"session/state.h\"\n").size() == 1);
}

TEST_CASE("errors of the converter may not contain options of a program") {
  CHECK(
      check_converter("converter/x.cc", "// \"give --config\"\nfail(\"give \", placeholder(Option::config));  // --x\n")
          .empty());
  CHECK(check_converter("converter/x.cc", "fail(\"give it with --config\");\n").size() == 1);
  CHECK(check_converter("converter/x.cc", "fail(a, \"--labels \", b);\n").size() == 1);
}

TEST_CASE("the converter may not print, handle signals or end the process") {
  CHECK(check_converter("converter/x.cc", "std::snprintf(a, b, c); // exit(1)\nfail(\"a signal (1)\");\n").empty());
  for (const char* source : {"std::printf(\"x\");\n", "std::cerr << 1;\n", "std::fprintf(stderr, \"x\");\n",
                             "if (::isatty(2) == 1) return;\n", "::signal(2, f);\n", "std::exit(1);\n"}) {
    CAPTURE(source);
    CHECK(check_converter("converter/x.cc", source).size() == 1);
  }
}

TEST_CASE("the converter may not link targets of the programs") {
  const char* file = "converter/CMakeLists.txt";
  CHECK(
      check_converter_links(file, "target_link_libraries(linformer_readers PUBLIC linformer_converter_files)").empty());
  CHECK(check_converter_links(file, "\ntarget_link_libraries(linformer_readers\n PUBLIC linformer_files)").size() == 1);
  CHECK(check_converter_links(file, "target_link_libraries(linformer_converter PRIVATE CLI11::CLI11)").size() == 1);
}

TEST_CASE("code that programs share may include only itself and public headers") {
  CHECK(check_shared_code("apps/common/x.h", "#include \"files/atomic_file.h\"\n#include \"usage.h\"\n").empty());
  for (const char* source : {"#include \"flags.h\"\n", "#include \"bench/child.h\"\n", "#include \"convert/x.h\"\n",
                             "#include \"base/checked.h\"\n", "#include \"converter/readers/error.h\"\n"}) {
    CAPTURE(source);
    CHECK(check_shared_code("apps/common/x.h", source).size() == 1);
  }
}

TEST_CASE("programs may include only public headers") {
  CHECK(check_program("apps/convert/x.cc", "#include \"linformer/convert.h\"\n#include \"usage.h\"\n").empty());
  CHECK(check_program("apps/convert/x.cc", "#include \"files/signals.h\"\n#include <vector>\n").empty());
  CHECK(check_program("apps/cli/models/x.cc", "#include \"linformer/model.h\"\n#include \"bench/child.h\"\n").empty());
  CHECK(check_program("apps/bench/x.cc", "#include \"base/description.h\"\n").empty());
  for (const char* program : {"apps/cli/inspect/x.h", "apps/convert/x.cc", "apps/examples/x.c", "apps/train/x.cc"}) {
    for (const char* header :
         {"base/description.h", "io/container.h", "model/fields.h", "text/unicode.h", "program/program.h",
          "kernels/kernels.h", "gemm/gemm.h", "cpu/declare.h", "cuda/device.h", "session/state.h", "pipeline/rows.h",
          "c_api/handles.h", "converter/readers/error.h"}) {
      CAPTURE(program);
      CAPTURE(header);
      CHECK(check_program(program, std::string("#include \"") + header + "\"\n").size() == 1);
    }
  }
}

TEST_CASE("the converter's public headers may include only public headers") {
  const char* header = "converter/include/linformer/x.h";
  CHECK(check_converter_header("converter/include/x.h", "#include <linformer.h>\n#include <stddef.h>\n").empty());
  CHECK(check_converter_header("converter/include/x.h", "#include <unistd.h>\n").size() == 1);
  CHECK(check_converter_header(header, "#include <vector>\n#include \"linformer/types.h\"\n").empty());
  CHECK(check_converter_header(header, "#include \"converter/build_model.h\"\n").size() == 1);
  CHECK(check_converter_header(header, "#include <nlohmann/json.hpp>\n").size() == 1);
}

TEST_CASE("the rules of a file depend on its folder") {
  CHECK(check_folder_rules("converter/readers/x.h", "#include \"usage.h\"\n").size() == 1);
  CHECK(check_folder_rules("converter/x/CMakeLists.txt", "target_link_libraries(a linformer_terminal)").size() == 1);
  CHECK(check_folder_rules("apps/common/files/x.cc", "#include \"convert/x.h\"\n").size() == 1);
  CHECK(check_folder_rules("apps/convert/x.cc", "#include \"converter/build_model.h\"\n").size() == 1);
  CHECK(check_folder_rules("converter/include/linformer/x.h", "#include \"base/cpu.h\"\n").size() == 1);
  CHECK(check_folder_rules("apps/cli/x.cc", "#include \"usage.h\"\n").empty());
  CHECK(check_folder_rules("apps/cli/x.cc", "#include \"base/checked.h\"\n").size() == 1);
  CHECK(check_folder_rules("apps/examples/x.c", "#include \"c_api/handles.h\"\n").size() == 1);
}

}  // namespace
}  // namespace linformer_test::folder_rules_test
