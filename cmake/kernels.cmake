# The tuned CPU kernels are one set of sources compiled once per instruction
# set; the best one the machine has is chosen at run time (src/kernel/cpu).
file(GLOB cpu_sources CONFIGURE_DEPENDS src/kernel/cpu/*.c)
list(FILTER cpu_sources EXCLUDE REGEX "/cpu_choose\\.c$")
target_sources(mete_lib PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src/kernel/cpu/cpu_choose.c)

if(METE_CORE_ONLY) # the reference loops are the specification, and there for all shapes: small before fast
  file(GLOB ref_sources CONFIGURE_DEPENDS src/kernel/ref/*.c)
  set_source_files_properties(${ref_sources} PROPERTIES COMPILE_OPTIONS -O2)
endif()

if(NOT cpu_sources)
  return()
endif()

function(mete_cpu_kernels isa lanes)
  add_library(cpu_${isa} OBJECT ${cpu_sources})
  set_target_properties(cpu_${isa} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(cpu_${isa} PRIVATE include src)
  target_compile_definitions(cpu_${isa} PRIVATE CPU_ISA=${isa} CPU_LANES=${lanes})
  target_compile_options(cpu_${isa} PRIVATE -ffp-contract=fast ${ARGN})
  if(METE_FUZZ) # kernels parse nothing, and clang takes minutes to instrument them
    target_compile_options(cpu_${isa} PRIVATE -fno-sanitize=all -O1)
  endif()
  target_sources(mete_lib PRIVATE $<TARGET_OBJECTS:cpu_${isa}>)
endfunction()

mete_cpu_kernels(portable 4)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  mete_cpu_kernels(avx2 8 -mavx2 -mfma)
  mete_cpu_kernels(avx512 16 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512)
  target_compile_definitions(mete_lib PRIVATE CPU_X86=1)
endif()
