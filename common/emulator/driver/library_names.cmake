# Writes into `folder` the names by which makefiles and CMake ask a linker for CUDA's libraries. `place` is where the
# emulator's will stand; they have no names of their own, so a program finds them by their whole paths.
# Kernels may draw random numbers without -lcurand, as cuRAND's functions for them are in its header.
foreach(name libcudart.so libcudart_static.a libcudadevrt.a libcuda.so)
  file(WRITE "${folder}/${name}"
    "INPUT(\"${place}/libwarpbook_emulator.so\" AS_NEEDED(\"${place}/libwarpbook_curand.so\"))\n")
endforeach()
foreach(name libcublas.so libcublas_static.a libcublasLt.so libcublasLt_static.a)
  file(WRITE "${folder}/${name}" "INPUT(\"${place}/libwarpbook_cublas.so\")\n")
endforeach()
foreach(name libcurand.so libcurand_static.a)
  file(WRITE "${folder}/${name}" "INPUT(\"${place}/libwarpbook_curand.so\")\n")
endforeach()
foreach(name libcufft.so libcufft_static.a)
  file(WRITE "${folder}/${name}" "INPUT(\"${place}/libwarpbook_cufft.so\")\n")
endforeach()
foreach(name libcusparse.so libcusparse_static.a)
  file(WRITE "${folder}/${name}" "INPUT(\"${place}/libwarpbook_cusparse.so\")\n")
endforeach()
foreach(name libcusolver.so libcusolver_static.a)
  file(WRITE "${folder}/${name}" "INPUT(\"${place}/libwarpbook_cusolver.so\")\n")
endforeach()
