# mete_embed(FILE NAME): FILE becomes `const unsigned char NAME[]` (ends with a NUL) and
# `const size_t NAME_size` (without it) in the library.
function(mete_embed file name)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.c)
  get_filename_component(file ${file} ABSOLUTE)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DIN=${file} -DOUT=${out} -DNAME=${name}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_file.cmake
    DEPENDS ${file} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_file.cmake
    COMMENT "Embedding ${name}" VERBATIM)
  target_sources(mete_lib PRIVATE ${out})
endfunction()

mete_embed(src/store/schema.sql schema_sql)
mete_embed(results/plan/prior.csv plan_prior)
mete_embed(src/report/web/page.css report_css)
mete_embed(src/report/web/figures.js report_script)
mete_embed(src/serve/web/live.html serve_live_html)
mete_embed(src/serve/web/live.js serve_live_js)
mete_embed(src/serve/web/label.html serve_label_html)
mete_embed(src/serve/web/label.js serve_label_js)
mete_embed(src/serve/web/serve.css serve_css)
