// Launches one kernel: a callable object that knows the kernel's parameters and is called by Triton's JIT without a Python
// function in between. For kernels whose arguments are pointers and numbers and whose launch needs no attributes; see
// launcher.py for who gets one. Compiled once per machine, like Triton's own driver.c, which it leaves to do the rest.

#include "cuda.h"
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LEADING 9 // grid x, y, z, stream, function, packed metadata, launch metadata, enter hook, exit hook
#define MOST_PARAMETERS 128

typedef struct {
  PyObject_HEAD
  vectorcallfunc call;
  unsigned threads, shared;
  Py_ssize_t count;                  // arguments after the leading ones
  char kinds[MOST_PARAMETERS];       // one letter an argument, 'x' where the kernel has no parameter for it
  uint64_t checked[MOST_PARAMETERS]; // for pointers: what was last found to be accessible, ...
  uint64_t device[MOST_PARAMETERS];  // ... and its address on the device
} Launcher;

static PyObject *data_ptr_name = NULL;

static bool succeeded(CUresult code) {
  if (code == CUDA_SUCCESS)
    return true;
  const char *text = NULL;
  if (cuGetErrorString(code, &text) != CUDA_SUCCESS || text == NULL)
    text = "unknown error";
  PyErr_Format(PyExc_RuntimeError, "Triton Error [CUDA]: %s", text);
  return false;
}

// The calling thread needs a context: torch makes one in its own threads only.
static bool ensure_context(void) {
  CUcontext context = NULL;
  if (!succeeded(cuCtxGetCurrent(&context)))
    return false;
  if (context != NULL)
    return true;
  CUdevice device;
  return succeeded(cuDeviceGet(&device, 0)) && succeeded(cuDevicePrimaryCtxRetain(&context, device)) &&
         succeeded(cuCtxSetCurrent(context));
}

// None is a null pointer, an int is taken as it is, anything else must have data_ptr().
static bool read_pointer(Launcher *self, Py_ssize_t index, PyObject *value, uint64_t *slot) {
  if (value == Py_None) {
    *slot = 0;
    return true;
  }
  if (PyLong_Check(value)) {
    *slot = PyLong_AsUnsignedLongLong(value);
    return !(*slot == (uint64_t)-1 && PyErr_Occurred());
  }
  PyObject *result = PyObject_CallMethodNoArgs(value, data_ptr_name);
  if (result == NULL) {
    PyErr_SetString(PyExc_TypeError, "Pointer argument must be either uint64 or have data_ptr method");
    return false;
  }
  if (!PyLong_Check(result)) {
    Py_DECREF(result);
    PyErr_SetString(PyExc_TypeError, "data_ptr method of Pointer object must return 64-bit int");
    return false;
  }
  uint64_t address = PyLong_AsUnsignedLongLong(result);
  Py_DECREF(result);
  if (address == (uint64_t)-1 && PyErr_Occurred())
    return false;
  if (address != 0 && address != self->checked[index]) {
    CUdeviceptr on_device;
    CUresult status = cuPointerGetAttribute(&on_device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address);
    if (status == CUDA_ERROR_INVALID_VALUE) {
      PyErr_SetString(PyExc_ValueError, "Pointer argument cannot be accessed from Triton (cpu tensor?)");
      return false;
    }
    if (!succeeded(status))
      return false;
    self->checked[index] = address;
    self->device[index] = on_device;
  }
  *slot = address == 0 ? 0 : self->device[index];
  return true;
}

// Writes the parameter's bytes to the slot. Integers are cut to the parameter's width, floats are rounded to it.
static bool read_argument(Launcher *self, Py_ssize_t index, PyObject *value, uint64_t *slot) {
  switch (self->kinds[index]) {
  case 'P':
    return read_pointer(self, index, value, slot);
  case 'l': // signed, up to 64 bits: little-endian, so the low bytes are the narrower value
    *slot = (uint64_t)PyLong_AsLongLong(value);
    return !(*slot == (uint64_t)-1 && PyErr_Occurred());
  case 'L':
    *slot = PyLong_AsUnsignedLongLong(value);
    return !(*slot == (uint64_t)-1 && PyErr_Occurred());
  case 'e': {
    char bytes[2];
    double number = PyFloat_AsDouble(value);
    if ((number == -1.0 && PyErr_Occurred()) || PyFloat_Pack2(number, bytes, 1) < 0)
      return false;
    memcpy(slot, bytes, sizeof bytes);
    return true;
  }
  case 'E': { // the upper half of the fp32, as Triton's own launcher has it
    float number = (float)PyFloat_AsDouble(value);
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    *slot = bits >> 16;
    break;
  }
  case 'f': {
    float number = (float)PyFloat_AsDouble(value);
    memcpy(slot, &number, sizeof number);
    return !(number == -1.0f && PyErr_Occurred());
  }
  case 'd': {
    double number = PyFloat_AsDouble(value);
    memcpy(slot, &number, sizeof number);
    return !(number == -1.0 && PyErr_Occurred());
  }
  }
  return !PyErr_Occurred();
}

static bool run_hook(PyObject *hook, PyObject *metadata) {
  if (hook == Py_None)
    return true;
  PyObject *result = PyObject_CallOneArg(hook, metadata);
  Py_XDECREF(result);
  return result != NULL;
}

static PyObject *launch(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *keywords) {
  Launcher *self = (Launcher *)object;
  Py_ssize_t given = PyVectorcall_NARGS(nargsf);
  if (given != LEADING + self->count || (keywords != NULL && PyTuple_GET_SIZE(keywords) != 0)) {
    PyErr_Format(PyExc_TypeError, "the kernel takes %zd arguments, not %zd", self->count, given - LEADING);
    return NULL;
  }
  long grid[3];
  for (int axis = 0; axis < 3; ++axis) {
    grid[axis] = PyLong_AsLong(args[axis]);
    if (grid[axis] == -1 && PyErr_Occurred())
      return NULL;
    if (grid[axis] > INT_MAX) {
      PyErr_SetString(PyExc_OverflowError, "a grid dimension does not fit 31 bits");
      return NULL;
    }
  }
  CUstream stream = (CUstream)PyLong_AsUnsignedLongLongMask(args[3]);
  CUfunction function = (CUfunction)PyLong_AsUnsignedLongLongMask(args[4]);
  if (PyErr_Occurred() || !ensure_context() || !run_hook(args[7], args[6]))
    return NULL;

  uint64_t slots[MOST_PARAMETERS + 2];
  void *parameters[MOST_PARAMETERS + 2];
  int used = 0;
  for (Py_ssize_t index = 0; index < self->count; ++index) {
    if (self->kinds[index] == 'x')
      continue;
    if (!read_argument(self, index, args[LEADING + index], &slots[used]))
      return NULL;
    parameters[used] = &slots[used];
    ++used;
  }
  for (int scratch = 0; scratch < 2; ++scratch) { // global and profile scratch: there is none
    slots[used] = 0;
    parameters[used] = &slots[used];
    ++used;
  }

  if (grid[0] > 0 && grid[1] > 0 && grid[2] > 0) {
    CUresult code;
    Py_BEGIN_ALLOW_THREADS;
    code = cuLaunchKernel(function, grid[0], grid[1], grid[2], self->threads, 1, 1, self->shared, stream, parameters,
                          NULL);
    Py_END_ALLOW_THREADS;
    if (!succeeded(code))
      return NULL;
  }
  if (!run_hook(args[8], args[6]))
    return NULL;
  Py_RETURN_NONE;
}

static PyObject *new_launcher(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  const char *kinds;
  Py_ssize_t count;
  unsigned threads, shared;
  if (!PyArg_ParseTuple(args, "y#II", &kinds, &count, &threads, &shared))
    return NULL;
  if (count > MOST_PARAMETERS || strspn(kinds, "xPlLeEfd") < (size_t)count) {
    PyErr_SetString(PyExc_ValueError, "too many parameters, or of an unknown kind");
    return NULL;
  }
  Launcher *self = (Launcher *)type->tp_alloc(type, 0); // zeroed
  if (self == NULL)
    return NULL;
  self->call = launch;
  self->threads = threads;
  self->shared = shared;
  self->count = count;
  memcpy(self->kinds, kinds, count);
  return (PyObject *)self;
}

static PyTypeObject LauncherType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpu_launch.Launcher",
    .tp_doc = "Launcher(kinds, threads, shared): launches one kernel; the arguments are those of Triton's launchers.",
    .tp_basicsize = sizeof(Launcher),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = new_launcher,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Launcher, call),
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "gpu_launch", NULL, -1, NULL};

PyMODINIT_FUNC PyInit_gpu_launch(void) {
  data_ptr_name = PyUnicode_InternFromString("data_ptr");
  if (data_ptr_name == NULL || PyType_Ready(&LauncherType) < 0)
    return NULL;
  PyObject *result = PyModule_Create(&module);
  if (result == NULL)
    return NULL;
  if (PyModule_AddObjectRef(result, "Launcher", (PyObject *)&LauncherType) < 0) {
    Py_DECREF(result);
    return NULL;
  }
  PyObject *most = PyLong_FromLong(MOST_PARAMETERS);
  if (most == NULL || PyModule_AddObjectRef(result, "MOST_PARAMETERS", most) < 0) {
    Py_XDECREF(most);
    Py_DECREF(result);
    return NULL;
  }
  Py_DECREF(most);
  return result;
}
