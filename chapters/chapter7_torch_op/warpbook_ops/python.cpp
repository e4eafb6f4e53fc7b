/// \file
/// A short way from Python to add2. PyTorch's own way (torch.ops.warpbook_ops.add2) is one for all operators: it reads
/// the schema, puts the arguments into boxes, and takes them out again, at each call. That costs more than all that
/// add2 checks. torch.add has a function of its own, made for its arguments, and so has add2 here: three tensors go
/// straight to PyTorch's dispatcher, where everything else happens as before. Whatever else comes goes the way for all
/// operators: subclasses of tensors, modes that want to see each call, what is no tensor at all.
///
/// A module of Python's, so it is built for the one Python that is here; the operators themselves serve any.
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <Python.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>

namespace {

/// torch.ops.warpbook_ops.add2, borrowed from `torch.ops`, which keeps it.
PyObject* general_way = nullptr;

bool is_plain(PyObject* argument) { return THPVariable_CheckExact(argument); }

//! [add2]
PyObject* add2(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  const bool short_way =
      count == 3 && std::all_of(arguments, arguments + 3, is_plain) && !at::impl::torch_function_mode_enabled();
  if (!short_way) return PyObject_Vectorcall(general_way, arguments, static_cast<std::size_t>(count), nullptr);
  static const auto operation = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("warpbook_ops::add2", "")
                                    .typed<void(at::Tensor&, const at::Tensor&, const at::Tensor&)>();
  at::Tensor out = THPVariable_Unpack(arguments[0]);
  {
    const pybind11::gil_scoped_release others_may_run;  // As in PyTorch's own: the launch may have to wait.
    operation.call(out, THPVariable_Unpack(arguments[1]), THPVariable_Unpack(arguments[2]));
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}
//! [add2]

PyObject* set_general_way(PyObject* /*module*/, PyObject* packet) {
  general_way = packet;
  Py_RETURN_NONE;
}

}  // namespace

PyMODINIT_FUNC PyInit_warpbook_ops_python() {
  static PyMethodDef functions[] = {
      {"add2", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&add2)), METH_FASTCALL,
       "add2(out, a, b): out = a + b"},
      {"set_general_way", &set_general_way, METH_O, "For what add2's short way does not take."},
      {},
  };
  static PyModuleDef module{};
  module.m_base = PyModuleDef_HEAD_INIT;
  module.m_name = "warpbook_ops_python";
  module.m_size = -1;  // No state that a second interpreter could have of its own.
  module.m_methods = functions;
  return PyModule_Create(&module);
}
