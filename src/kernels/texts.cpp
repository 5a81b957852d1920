#include "texts.hpp"

namespace parasphere {
namespace {

std::string type_of(nb::handle given) {
    return given.is_none() ? "None" : "of type " + std::string(nb::str(given.type().attr("__name__")).c_str());
}

// A text as UTF-8, with U+FFFD in place of lone surrogates, which have no UTF-8 form.
std::string without_surrogates(nb::handle text) {
    const nb::object encoded = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
    char* bytes = nullptr;
    Py_ssize_t size = 0;
    if (!encoded.is_valid() || PyBytes_AsStringAndSize(encoded.ptr(), &bytes, &size) != 0) {
        throw nb::python_error();
    }
    std::string found(bytes, static_cast<std::size_t>(size));
    for (std::size_t i = 0; i + 2 < found.size(); ++i) {
        if (found[i] == '\xED' && static_cast<std::uint8_t>(found[i + 1]) >= 0xA0) {
            found.replace(i, 3, "\xEF\xBF\xBD");
        }
    }
    return found;
}

}  // namespace

Texts::Texts(nb::handle given) {
    if (PyList_Check(given.ptr())) {
        held_ = nb::steal(PyList_AsTuple(given.ptr()));  // others may change the list meanwhile
        if (!held_.is_valid()) {
            throw nb::python_error();
        }
    } else if (PyTuple_Check(given.ptr())) {
        held_ = nb::borrow(given);
    } else {
        refuse("texts must be a list of str, but are ", type_of(given));
    }
    const Py_ssize_t many = PyTuple_Size(held_.ptr());
    texts_.reserve(static_cast<std::size_t>(many));
    for (Py_ssize_t i = 0; i < many; ++i) {
        PyObject* text = PyTuple_GetItem(held_.ptr(), i);
        if (!PyUnicode_Check(text)) {
            refuse("texts must be str, but text ", i, " (counting from 0) is ", type_of(text));
        }
        Py_ssize_t size = 0;
        const char* data = PyUnicode_AsUTF8AndSize(text, &size);
        if (data == nullptr) {
            if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
                throw nb::python_error();
            }
            PyErr_Clear();
            const std::string& sound = rewritten_.emplace_back(without_surrogates(text));
            data = sound.data();
            size = static_cast<Py_ssize_t>(sound.size());
        }
        texts_.emplace_back(reinterpret_cast<const std::uint8_t*>(data), static_cast<std::size_t>(size));
        bytes_ += static_cast<std::size_t>(size);
    }
}

}  // namespace parasphere
