# Run by ctest. Runs the tests in C, and checks that the model file which they leave equals the one that
# linformer-convert writes.
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${EMULATOR} ${TEST} ${GOLDEN} ${WORK} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${EMULATOR} ${CONVERT} ${GOLDEN}/fairseq/classifier/checkpoint.pt -o ${WORK}/program.lnfr --quiet
    --config "{\"activation_fnn\": \"gelu\"}" --labels mnli=contradiction,neutral,entailment
    --head-kind sentence_classification_head=multi_label --dtype-for f32:*classif* --dtype int8
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WORK}/program.lnfr ${WORK}/kept.lnfr
  COMMAND_ERROR_IS_FATAL ANY)
