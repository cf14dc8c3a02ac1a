# CPack runs this script after it has installed the files of all packages below CPACK_TEMPORARY_DIRECTORY/COMPONENT, and
# before it packs them. The script makes them follow Debian's policy: it strips binaries, compresses manual pages, and
# adds a copyright file and a changelog.
cmake_minimum_required(VERSION 3.22)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code ERROR_VARIABLE error)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command} gave ${code}: ${error}")
  endif()
endfunction()

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # The time of SOURCE_DATE_EPOCH if that is set.

# The binaries contain code of these libraries, whose licences require that their notices come with it.
set(libraries_shared libflatbuffers-dev libutf8proc-dev libxsimd-dev libxxhash-dev)
set(libraries_development libflatbuffers-dev libxsimd-dev libxxhash-dev)
set(libraries_programs ${libraries_shared} libcli11-dev nlohmann-json3-dev)

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  set(doc ${root}/share/doc/${package})

  # Debian's zsh looks for the functions of packages only in vendor-completions.
  if(EXISTS ${root}/share/zsh/site-functions)
    file(RENAME ${root}/share/zsh/site-functions ${root}/share/zsh/vendor-completions)
  endif()
  file(GLOB pages ${root}/share/man/man1/*.1)
  if(pages)
    run(gzip -9n ${pages})
  endif()

  file(GLOB_RECURSE archives ${root}/lib/*.a)
  foreach(archive IN LISTS archives)
    run(${CPACK_LINFORMER_STRIP} --strip-debug --remove-section=.comment --enable-deterministic-archives ${archive})
  endforeach()
  file(GLOB_RECURSE binaries ${root}/bin/* ${root}/lib/*.so.*.*.*)
  foreach(binary IN LISTS binaries)
    run(${CPACK_LINFORMER_STRIP} --strip-unneeded --remove-section=.comment --remove-section=.note ${binary})
  endforeach()

  file(COPY ${CMAKE_CURRENT_LIST_DIR}/copyright DESTINATION ${doc})
  foreach(library IN LISTS libraries_${component})
    set(notice /usr/share/doc/${library}/copyright)
    if(NOT EXISTS ${notice})
      message(FATAL_ERROR "${notice} does not exist: install ${library}, from which the packages are built")
    endif()
    file(READ ${notice} text)
    file(WRITE ${doc}/third-party/${library} "${text}")
  endforeach()
  # The version has no Debian revision, because the packages and the programs are of one source tree.
  file(WRITE ${doc}/changelog "linformer (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * The packages of version ${CPACK_PACKAGE_VERSION}, built from its source tree.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  run(gzip -9n ${doc}/changelog)
endforeach()
