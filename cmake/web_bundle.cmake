# Makes OUT from the sources in WEB with npm and node; an empty OUT and a warning when
# the packages cannot be had, so that a build without a network still succeeds.
get_filename_component(dir ${OUT} DIRECTORY)
file(MAKE_DIRECTORY ${dir})
foreach(name package.json package-lock.json bundle.mjs charts.js)
  file(COPY ${WEB}/${name} DESTINATION ${dir})
endforeach()
execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
                WORKING_DIRECTORY ${dir} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE why)
if(NOT failed)
  execute_process(COMMAND ${NODE} bundle.mjs WORKING_DIRECTORY ${dir} RESULT_VARIABLE failed
                  OUTPUT_QUIET ERROR_VARIABLE why)
endif()
file(REMOVE_RECURSE ${dir}/node_modules)
if(failed)
  message(WARNING "the report's charts could not be bundled; it will have tables only:\n${why}")
  file(WRITE ${OUT} "")
endif()
file(TOUCH ${OUT})
