# Installs for a package and into a folder, moves that folder, and runs the main job from there without the source
# tree's templates.
cmake_minimum_required(VERSION 3.25)
set(staged ${WORK}/staged)
set(first ${WORK}/installed)
set(moved ${WORK}/moved)
file(REMOVE_RECURSE ${staged} ${first} ${moved})

# With DESTDIR nothing is written elsewhere, links included.
execute_process(COMMAND ${CMAKE_COMMAND} -E env DESTDIR=${staged} ${CMAKE_COMMAND} --install ${BUILD} --prefix ${first}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS ${first})
  message(FATAL_ERROR "an installation with DESTDIR wrote to ${first}")
endif()
set(tree ${staged}${first})
foreach(file IN ITEMS bin/alphakernel bin/generate_kernel bin/alphakernel-dashboard
    share/alphakernel/templates/softmax/problem.json share/alphakernel/templates/include/ak/tma.cuh
    share/alphakernel/experiments/vector_add_bandwidth.json
    share/alphakernel/models/time/sm_90a_h200.json
    share/doc/alphakernel/LICENSE share/doc/alphakernel/CHANGELOG.md share/doc/alphakernel/docs/exit_codes.md
    share/doc/alphakernel/docs/agents/codex/AGENTS.md share/doc/alphakernel/docs/agents/claude-code/alphakernel/SKILL.md
    share/doc/alphakernel/copyright share/doc/alphakernel/docs/examples/library/main.cpp
    share/doc/libalphakernel-dev/copyright share/doc/libalphakernel-dev/licenses/libsqlite3-dev.txt
    share/doc/alphakernel/licenses/libsqlite3-dev.txt share/doc/alphakernel/licenses/libcmark-gfm-dev.txt
    share/man/man1/alphakernel.1 share/man/man1/generate_kernel.1 share/bash-completion/completions/alphakernel
    share/zsh/site-functions/_alphakernel share/fish/vendor_completions.d/alphakernel.fish
    lib/python3/dist-packages/alphakernel/py.typed)
  if(NOT EXISTS ${tree}/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
file(READ_SYMLINK ${tree}/bin/generate_kernel program)
if(NOT program STREQUAL "alphakernel")
  message(FATAL_ERROR "generate_kernel is a link to ${program}, expected alphakernel next to it")
endif()
file(REMOVE_RECURSE ${staged})

execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${first} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${first} ${moved})
set(ENV{ALPHAKERNEL_CONFIG} ${moved}/none.json)
set(ENV{ALPHAKERNEL_CACHE} ${moved}/cache)
execute_process(COMMAND ${moved}/bin/alphakernel algorithms --json OUTPUT_VARIABLE list COMMAND_ERROR_IS_FATAL ANY)
if(NOT list MATCHES "${moved}/share/alphakernel/templates/softmax")
  message(FATAL_ERROR "the installed program does not use its own templates:\n${list}")
endif()
execute_process(COMMAND ${moved}/bin/alphakernel experiment list --json OUTPUT_VARIABLE list COMMAND_ERROR_IS_FATAL ANY)
if(NOT list MATCHES "${moved}/share/alphakernel/experiments/vector_add_bandwidth.json")
  message(FATAL_ERROR "the installed program does not use its own experiments:\n${list}")
endif()
# A link from elsewhere, such as ~/bin, finds them as well.
file(CREATE_LINK ${moved}/bin/generate_kernel ${WORK}/generate_kernel SYMBOLIC)
execute_process(COMMAND ${WORK}/generate_kernel --algorithm reduce_sum --arch sm_80 --device none --max-evaluations 1
  --db ${moved}/ak.db --output ${moved}/sum.cu COMMAND_ERROR_IS_FATAL ANY)
if(NOT EXISTS ${moved}/sum.cu)
  message(FATAL_ERROR "no kernel was written")
endif()
execute_process(COMMAND ${moved}/bin/alphakernel-dashboard --version OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
if(NOT version STREQUAL "alphakernel ${VERSION}\n")
  message(FATAL_ERROR "expected version ${VERSION}, got '${version}'")
endif()
file(REMOVE_RECURSE ${moved} ${WORK}/generate_kernel)
