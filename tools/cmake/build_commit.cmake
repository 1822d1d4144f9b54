# Writes OUTPUT, a header with the commit of the tree at ROOT ("unknown" outside git), when that changed.
execute_process(COMMAND git -C ${ROOT} describe --always --dirty --abbrev=12 --exclude * OUTPUT_VARIABLE commit
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#pragma once\n#define AK_COMMIT \"${commit}\"\n")
