// Checking and reading arguments of kernels: arrays and texts.
#include "texts.hpp"

#include <algorithm>
#include <sstream>

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

void refuse(std::initializer_list<MessagePart> parts) {
    std::ostringstream message;
    for (const MessagePart& part : parts) {
        std::visit([&message](const auto& value) { message << value; }, part);
    }
    throw nb::value_error(message.str().c_str());
}

Memory::~Memory() {
    if (buffer_ != nullptr) {
        PyBuffer_Release(buffer_);
        delete buffer_;
    }
}

bool Memory::take(nb::handle given, const Due& due, std::size_t* shape) {
    auto buffer = std::unique_ptr<Py_buffer>(new (std::nothrow) Py_buffer());
    // As strides are not asked for, only contiguous memory is given.
    const int flags = PyBUF_ND | PyBUF_FORMAT | (due.writable ? PyBUF_WRITABLE : 0);
    if (buffer == nullptr || PyObject_GetBuffer(given.ptr(), buffer.get(), flags) != 0) {
        PyErr_Clear();
        return false;
    }
    buffer_ = buffer.release();
    std::string_view format = buffer_->format == nullptr ? "B" : buffer_->format;
    format.remove_prefix(format.find_first_of("@=<") == 0 ? 1 : 0);
    if (format.size() != 1 || due.kinds.find(format[0]) == std::string_view::npos ||
        static_cast<std::size_t>(buffer_->itemsize) != due.item_size ||
        static_cast<std::size_t>(buffer_->ndim) != due.n_axes) {
        return false;
    }
    std::copy_n(buffer_->shape, due.n_axes, shape);
    data_ = buffer_->buf;
    if (reinterpret_cast<std::uintptr_t>(data_) % due.item_size == 0) {
        return true;
    }
    // Numbers must lie at multiples of their size. In an array sent by another process they may not: it is copied.
    copy_.reset(due.writable ? nullptr : new (std::nothrow) std::byte[static_cast<std::size_t>(buffer_->len)]);
    if (copy_ == nullptr) {
        return false;
    }
    std::memcpy(copy_.get(), buffer_->buf, static_cast<std::size_t>(buffer_->len));
    data_ = copy_.get();
    return true;
}

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
