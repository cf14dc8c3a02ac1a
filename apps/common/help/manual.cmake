# linformer_manual(TARGET PROGRAM COMMAND...) runs the program TARGET to write its man pages and completions, and
# installs them. The build target linformer_manual writes the pages of all programs.
function(linformer_manual target program)
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    return()
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/manual)
  file(MAKE_DIRECTORY ${folder}/bash ${folder}/zsh ${folder}/fish ${folder}/man)
  set(files "")
  # COMMAND gets the name of the target and not a path, so that CMake runs the program with the emulator of a cross
  # build.
  macro(linformer_write output)
    add_custom_command(OUTPUT ${folder}/${output} COMMAND ${target} ${ARGN} > ${folder}/${output}
      DEPENDS ${target} VERBATIM)
    list(APPEND files ${folder}/${output})
  endmacro()
  linformer_write(man/${program}.1 --help-format man)
  foreach(command IN LISTS ARGN)
    linformer_write(man/${program}-${command}.1 ${command} --help-format man)
  endforeach()
  linformer_write(bash/${program} --help-format bash)
  linformer_write(zsh/_${program} --help-format zsh)
  linformer_write(fish/${program}.fish --help-format fish)
  add_custom_target(${target}_manual ALL DEPENDS ${files})
  if(NOT TARGET linformer_manual)
    add_custom_target(linformer_manual)
  endif()
  add_dependencies(linformer_manual ${target}_manual)
  if(LINFORMER_INSTALL)
    list(FILTER files INCLUDE REGEX "\\.1$")
    install(FILES ${files} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs)
    install(FILES ${folder}/bash/${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
      COMPONENT programs)
    install(FILES ${folder}/zsh/_${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT programs)
    install(FILES ${folder}/fish/${program}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
      COMPONENT programs)
  endif()
endfunction()
