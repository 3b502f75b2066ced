# The report's charts: Vega-Lite and charts.js as one script, made with npm where
# there is one (and its packages can be had).  Without them the page has tables only.
set(web ${CMAKE_CURRENT_SOURCE_DIR}/src/report/web)
set(charts ${CMAKE_CURRENT_BINARY_DIR}/web/charts.min.js)
find_program(METE_NPM npm)
find_program(METE_NODE node)
mark_as_advanced(METE_NPM METE_NODE)
if(METE_CORE_ONLY OR NOT METE_NPM OR NOT METE_NODE)
  message(STATUS "node and npm: no; the report will have tables but no charts")
  file(WRITE ${charts} "")
else()
  if(EXISTS ${charts}) # an empty one is a failed attempt: try again
    file(SIZE ${charts} size)
    if(size EQUAL 0)
      file(REMOVE ${charts})
    endif()
  endif()
  set(inputs ${web}/package.json ${web}/package-lock.json ${web}/bundle.mjs ${web}/charts.js)
  add_custom_command(OUTPUT ${charts}
    COMMAND ${CMAKE_COMMAND} -DWEB=${web} -DOUT=${charts} -DNPM=${METE_NPM} -DNODE=${METE_NODE}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/web_bundle.cmake
    DEPENDS ${inputs} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/web_bundle.cmake
    COMMENT "Bundling the report's charts" VERBATIM)
endif()
mete_embed(${charts} report_charts)
mete_embed(src/report/web/page.css report_css)
