# What mixes units does not compile. Each line is tried in a function of its own; the first block has to compile, so that a
# failure says something.
cmake_minimum_required(VERSION 3.25)
set(must_compile
  "return (Bytes(1) / Bandwidth(2) + Nanoseconds(3)).value()\;"
  "return (Ratio(1) * Nanoseconds(2)).value()\;"
  "return (Nanoseconds(1) / Nanoseconds(2)).value()\;"
  "return Bytes(1) < Bytes(2)\;")
set(must_fail
  "return (Bytes(1) + Nanoseconds(3)).value()\;"
  "return (Nanoseconds(1) - Ratio(3)).value()\;"
  "return Bytes(1) < Nanoseconds(2)\;"
  "return Ratio(1) == Bytes(1)\;"
  "return (Bytes(1) / Throughput(2)).value()\;"
  "return (Operations(1) / Bandwidth(2)).value()\;"
  "return (Bytes(1) / Nanoseconds(2)).value()\;"
  "return (Bytes(1) * Bytes(2)).value()\;"
  "Nanoseconds time = 3.0\; return time.value()\;"
  "Nanoseconds time = Bytes(3)\; return time.value()\;"
  "return Nanoseconds(3)\;")
# The same of what core's interfaces give.
set(predictions_must_compile
  "return PredictedScore().low < PredictedTime().high\;")
set(predictions_must_fail
  "return (PredictedScore().score - Ratio(1)).value()\;"
  "return PredictedTime{.workload = {}, .time = 3.0, .low = {}, .high = {}, .limiter = {}}.time.value()\;")
set(devices_must_compile
  "return (Bytes(1) / DeviceFacts().peak_bandwidth() + Floor().time).value()\;")
set(devices_must_fail
  "return Floor().time < Bytes(2)\;"
  "return (Floor().time - DeviceFacts().peak_bandwidth()).value()\;")
file(MAKE_DIRECTORY ${WORK})
set(source ${WORK}/mixed_units.cpp)

function(compiles headers statements output)
  set(includes "")
  foreach(header IN LISTS headers)
    string(APPEND includes "#include \"${header}\"\n")
  endforeach()
  file(WRITE ${source} "${includes}using namespace ak;\ndouble tried() { ${statements} }\n")
  execute_process(COMMAND ${CXX} -std=c++20 -fsyntax-only -I${ROOT} ${source} RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
  if(code EQUAL 0)
    set(${output} TRUE PARENT_SCOPE)
  else()
    set(${output} FALSE PARENT_SCOPE)
  endif()
endfunction()

function(try headers good bad)
  foreach(statements IN LISTS ${good})
    compiles("${headers}" "${statements}" accepted)
    if(NOT accepted)
      message(FATAL_ERROR "does not compile, but should: ${statements}")
    endif()
  endforeach()
  foreach(statements IN LISTS ${bad})
    compiles("${headers}" "${statements}" accepted)
    if(accepted)
      message(FATAL_ERROR "compiles, but mixes units: ${statements}")
    endif()
  endforeach()
endfunction()

try("core/units.h" must_compile must_fail)
try("core/prediction.h" predictions_must_compile predictions_must_fail)
try("core/device/floor.h" devices_must_compile devices_must_fail)
file(REMOVE ${source})
