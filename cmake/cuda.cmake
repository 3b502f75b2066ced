# The CUDA kernel set (src/kernel/cuda).  Nothing of it needs C++'s run-time
# library, and CUDA's own is linked statically: the binary asks for libc and, when
# it starts, for the driver.
set(METE_CUDA_ARCHS 90a-real 90-virtual CACHE STRING
    "GPU architectures to build for, a list: 90a-real Hopper, 90-virtual any later one, 100 Blackwell")
find_program(METE_NVCC nvcc HINTS $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
if(NOT CMAKE_CUDA_COMPILER AND METE_NVCC)
  set(CMAKE_CUDA_COMPILER ${METE_NVCC})
endif()
set(CMAKE_CUDA_ARCHITECTURES ${METE_CUDA_ARCHS})
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

file(GLOB cuda_sources CONFIGURE_DEPENDS src/kernel/cuda/*.cu src/kernel/cuda/*.c)
target_sources(mete_lib PRIVATE ${cuda_sources})
set_target_properties(mete_lib PROPERTIES CUDA_ARCHITECTURES "${METE_CUDA_ARCHS}" CUDA_STANDARD 17)
target_compile_definitions(mete_lib PUBLIC METE_CUDA=1)
target_include_directories(mete_lib PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_compile_options(mete_lib PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers,-fno-exceptions,-fno-threadsafe-statics>")
if(METE_WERROR)
  target_compile_options(mete_lib PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
if(METE_CUDA_STANDIN) # tests/gpu: no GPU is needed, and nothing is computed
  target_sources(mete_lib PRIVATE tests/gpu/standin.c)
else()
  target_link_libraries(mete_lib PUBLIC CUDA::cudart_static)
endif()
set(CMAKE_CUDA_IMPLICIT_LINK_LIBRARIES "") # what is linked is said above
set(CMAKE_CUDA_LINKER_PREFERENCE 0)        # and programs are linked as C
set(CMAKE_CUDA_LINKER_PREFERENCE_PROPAGATES 0)
