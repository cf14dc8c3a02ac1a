#include <doctest/doctest.h>

#include <cstdio>

#include "layers/rules.h"

namespace linformer_test::layers_test {
namespace {

void print(const char* kind, const Findings& findings) {
  for (const Finding& finding : findings) {
    std::printf("%s: %s:%d: %s\n", kind, finding.file.c_str(), finding.line, finding.message.c_str());
  }
}

TEST_CASE("the source tree follows all rules") {
  const Report report = check_tree(LINFORMER_SOURCE_DIR);
  print("error", report.errors);
  print("warning", report.warnings);
  std::printf("%d files, %d of them in the runtime: %zu errors, %zu warnings\n", report.files, report.runtime_files,
              report.errors.size(), report.warnings.size());
  CHECK(report.errors.empty());
  // Without these checks, a search that finds no files would pass.
  CHECK(report.runtime_files >= 14);
  CHECK(report.program_files >= 100);
}

// The tests below check with invented files that each rule finds violations.

TEST_CASE("a layer may include only lower layers") {
  CHECK(check_includes("kernels/x.cc", "#include \"base/cpu.h\"\n#include <xsimd/xsimd.hpp>\n").empty());
  CHECK(check_includes("base/x.cc", "#include \"linformer/status.h\"\n").empty());
  CHECK(check_includes("base/x.cc", "// #include \"io/file.h\"\n").empty());
  for (const auto& made : {std::pair{"base/x.cc", "#include \"io/file.h\"\n"},
                           {"kernels/x.h", "  #  include \"session/state.h\"\n"},
                           {"model/x.cc", "#include \"program/arena.h\"\n"},
                           {"session/x.cc", "#include \"text/bpe.h\"\n"},
                           {"text/x.cc", "#include \"kernels/kernels.h\"\n"},
                           {"text/x.cc", "#include \"linformer/session.h\"\n"},
                           {"io/x.cc", "#include \"linformer/model.h\"\n"},
                           {"session/x.cc", "#include <dnnl.hpp>\n"},
                           {"base/x.cc", "#include <iostream>\n"},
                           {"session/x.cc", "#include \"converter/writer/model_builder.h\"\n"},
                           {"program/x.cc", "#include \"program.h\"\n"},
                           {"program/x.cc", "#include \"kernels/kernels.h\"\n"},
                           {"cpu/x.cc", "#include \"base/description.h\"\n"},
                           {"cpu/x.cc", "#include \"program/lower.h\"\n"},
                           {"cpu/x.cc", "#include \"model/fields.h\"\n"},
                           {"extras/x.cc", ""},
                           {"include/linformer/surprise.h", ""},
                           {"include/linformer/model.h", "#include \"base/checked.h\"\n"},
                           {"include/linformer/model.h", "#include <flatbuffers/flatbuffers.h>\n"}}) {
    const char *file = made.first, *source = made.second;
    CAPTURE(file);
    CAPTURE(source);
    CHECK(check_includes(file, source).size() == 1);
  }
}

TEST_CASE("only base/platform_*.cc may include headers of the operating system") {
  CHECK(check_system_includes("base/x.cc", "#include <ctime>\n#include \"base/platform.h\"\n").empty());
  CHECK(check_system_includes("base/platform_posix.cc", "#include <sys/mman.h>\n#include <unistd.h>\n").empty());
  CHECK(check_system_includes("base/x.cc", "// #include <unistd.h>\n").empty());
  for (const auto& made : {std::pair{"base/x.cc", "#include <unistd.h>\n"},
                           {"io/x.cc", "#include <sys/mman.h>\n"},
                           {"io/x.h", "  # include <fcntl.h>\n"},
                           {"base/platform.h", "#include <pthread.h>\n"},
                           {"io/platform_posix.cc", "#include <dlfcn.h>\n"},
                           {"cuda/x.cc", "#include <linux/futex.h>\n"},
                           {"cuda/x.cc", "#include \"sys/syscall.h\"\n"},
                           {"io/x.cc", "#include <cerrno>\n"},
                           {"base/cpu.cc", "#include <cpuid.h>\n"},
                           {"base/x.cc", "#include <errno.h>\n"},
                           {"base/x.cc", "#include <asm/prctl.h>\n"},
                           {"base/x.cc", "#include <Windows.h>\n"}}) {
    const char *file = made.first, *source = made.second;
    CAPTURE(file);
    CAPTURE(source);
    CHECK(check_system_includes(file, source).size() == 1);
  }
}

TEST_CASE("the runtime may not print, throw or end the process") {
  CHECK(check_forbidden_calls("base/x.cc", "std::vsnprintf(a, b, c, d);\nint exit_code = 0;\n").empty());
  CHECK(check_forbidden_calls("base/x.cc", "// printf(\"x\") would throw\n/* abort() */ const char* s = \"exit(1)\";\n")
            .empty());
  CHECK(check_forbidden_calls("base/x.cc", "const char* s = R\"(abort())\"; char c = '\"'; int n = 1'000;\n").empty());
  CHECK(check_forbidden_calls("base/x.h", "void f() __attribute__((format(printf, 2, 3)));\n").empty());
  for (const char* source :
       {"printf(\"x\");\n", "std::abort();\n", "  exit (1);\n", "throw 1;\n", "try {\n", "std::cout << 1;\n",
        "char c = '\"'; abort(); char d = '\"';\n", "openblas_set_num_threads(1);\n", "word.notify_all();\n",
        "int n = 1'000; std::terminate(); int m = 1'000;\n"}) {
    CAPTURE(source);
    CHECK(check_forbidden_calls("base/x.cc", source).size() == 1);
  }
}

TEST_CASE("the runtime may not use containers that throw if memory runs out") {
  CHECK(check_containers("base/x.cc", "Array<int> a;\nif (!a.try_push(1)) return;\nstd::string_view text;\n").empty());
  CHECK(check_containers("base/x.cc", "int* p = new (std::nothrow) int;\n// a new std::vector\n").empty());
  CHECK(check_containers("base/x.cc", "#include <new>\nint newer = 1; renew();\n").empty());
  CHECK(check_containers("base/array.h", "void* p = ::new (place) T(); std::string s;\n").empty());
  for (const char* source :
       {"std::vector<int> a;\n", "const std::string& s;\n", "std::map<int, int> m;\n", "a.push_back(1);\n",
        "a->resize(4);\n", "int* p = new int;\n", "auto p = new int[4];\n", "std::function<void()> f;\n",
        "auto p = std::make_shared<int>();\n", "std::stable_sort(a, b);\n", "auto s = std::to_string(1);\n"}) {
    CAPTURE(source);
    CHECK(check_containers("base/x.cc", source).size() == 1);
  }
}

TEST_CASE("a target may link only lower layers") {
  CHECK(
      check_links("program/CMakeLists.txt", "target_link_libraries(linformer_program PUBLIC linformer_model)").empty());
  CHECK(check_links("base/CMakeLists.txt", "target_link_libraries(linformer_base PUBLIC Threads::Threads)").empty());
  CHECK(check_links("model/CMakeLists.txt", "\ntarget_link_libraries(linformer_model\n PUBLIC linformer_program)")
            .size() == 1);
  CHECK(check_links("io/CMakeLists.txt", "target_link_libraries(linformer_io PRIVATE linformer_writer)").size() == 1);
}

TEST_CASE("a room of the program may include only lower rooms") {
  CHECK(check_program_includes("apps/cli/main.cc", "#include \"commands/commands.h\"\n").empty());
  CHECK(check_program_includes("apps/cli/commands/x.cc", "#include \"input/records.h\"\n#include \"research/x.h\"\n")
            .empty());
  CHECK(check_program_includes("apps/cli/input/bytes/x.cc", "#include \"input/records.h\"\n#include \"base/x.h\"\n")
            .empty());
  CHECK(check_program_includes("apps/research/x.cc", "#include \"bench/paper.h\"\n#include \"gemm/x.h\"\n").empty());
  CHECK(check_program_includes("apps/cli/input/x.cc", "// #include \"commands/commands.h\"\n").empty());
  CHECK(check_program_includes("apps/files/x.cc", "#include \"files/y.h\"\n").empty());
  for (const auto& made : {std::pair{"apps/cli/input/x.cc", "#include \"commands/flags/input_flags.h\"\n"},
                           {"apps/cli/input/bytes/x.cc", "  #  include \"evaluation/evaluation.h\"\n"},
                           {"apps/cli/answers/x.h", "#include \"input/records.h\"\n"},
                           {"apps/cli/models/x.h", "#include \"answers/output.h\"\n"},
                           {"apps/cli/models/x.h", "#include \"commands/commands.h\"\n"},
                           {"apps/cli/evaluation/x.cc", "#include \"commands/commands.h\"\n"},
                           {"apps/cli/evaluation/x.cc", "#include \"inspect/describe.h\"\n"},
                           {"apps/cli/inspect/x.cc", "#include \"commands/flags/run_flags.h\"\n"},
                           {"apps/cli/inspect/x.cc", "#include \"research/spectrum.h\"\n"},
                           {"apps/cli/input/x.cc", "#include \"bench/limits.h\"\n"},
                           {"apps/research/x.cc", "#include \"input/records.h\"\n"},
                           {"apps/bench/x.cc", "#include \"research/drawing.h\"\n"},
                           {"apps/common/command_line/x.cc", "#include \"answers/output.h\"\n"},
                           {"apps/cli/extras/x.cc", ""}}) {
    const char *file = made.first, *source = made.second;
    CAPTURE(file);
    CAPTURE(source);
    CHECK(check_program_includes(file, source).size() == 1);
  }
}

TEST_CASE("folders of the programs and the converter may have at most 25 files") {
  CHECK(check_file_count("apps/cli/input", 25).empty());
  CHECK(check_file_count("tests/cli", 80).empty());
  CHECK(check_file_count("apps/research/study/results/labels", 80).empty());
  CHECK(check_file_count("apps/research/study", 26).size() == 1);
  for (const char* folder : {"apps", "apps/cli", "apps/cli/commands", "converter", "converter/writer"}) {
    CAPTURE(folder);
    CHECK(check_file_count(folder, 26).size() == 1);
  }
}

TEST_CASE("paths of a machine are found") {
  CHECK(check_machine_paths("a.md", "see runtime/base and ../shared\n").empty());
  const std::string path = std::string("/ho") + "me/somebody/model.lnfr";
  CHECK(check_machine_paths("a.md", "first\nopen " + path + "\n").size() == 1);
}

TEST_CASE("only support/temporary_folder.h may make temporary folders") {
  const char* source = "auto folder = std::filesystem::temp_directory_path() / \"x\";\n";
  CHECK(check_temporary_files("tests/text/x.cc", source).size() == 1);
  CHECK(check_temporary_files("tests/support/temporary_folder.h", source).empty());
  CHECK(check_temporary_files("tests/text/x.cc", "const TemporaryFolder folder;  // not mkdtemp\n").empty());
}

TEST_CASE("a file of more than 400 lines is reported") {
  CHECK(check_length("a.cc", std::string(400, '\n')).empty());
  CHECK(check_length("a.cc", std::string(401, '\n')).size() == 1);
}

}  // namespace
}  // namespace linformer_test::layers_test
