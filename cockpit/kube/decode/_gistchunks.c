/* The body in a buffer of HTTP/1.1 chunks (cockpit.kube.chunked): a watch is one chunk an event, so that this runs
 * fifty thousand times in a big list. Reads plain sizes only; what else stands between two chunks is Python's.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define DIGITS 16

static int digit_of(uint8_t byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

/* The end of one chunk and the size of the next, CR LF digits CR LF; where its data begins, 0 where it is not plain,
 * not whole, or the last. */
static size_t next_chunk(const uint8_t *data, size_t at, size_t end, uint64_t *size) {
    if (end - at < 5 || data[at] != '\r' || data[at + 1] != '\n') return 0;
    uint64_t found = 0;
    size_t digits = 0;
    for (at += 2; at < end && digits <= DIGITS && digit_of(data[at]) >= 0; at++, digits++)
        found = found << 4 | (uint64_t)digit_of(data[at]);
    if (!digits || digits > DIGITS || !found || end - at < 2 || data[at] != '\r' || data[at + 1] != '\n') return 0;
    *size = found;
    return at + 2;
}

/* From `at`, in a chunk of which `left` bytes are to come. Writes the body where `to` is given, and says how much. */
static size_t walk(const uint8_t *data, size_t *at, size_t end, uint64_t *left, uint8_t *to) {
    size_t size = 0;
    for (;;) {
        size_t here = *left < end - *at ? (size_t)*left : end - *at;
        if (to != NULL && here) memcpy(to + size, data + *at, here);
        size += here;
        *at += here;
        *left -= here;
        size_t next = *left || *at == end ? 0 : next_chunk(data, *at, end, left);
        if (!next) return size;
        *at = next;
    }
}

/* unchunked(data, at, end, left) -> (body, at, left): `at` is the end, or where something else than a size stands. */
PyObject *unchunked(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "unchunked takes the bytes, where to begin and end, and what is left");
        return NULL;
    }
    Py_ssize_t at = PyLong_AsSsize_t(given[1]), end = PyLong_AsSsize_t(given[2]);
    uint64_t left = PyErr_Occurred() ? 0 : PyLong_AsUnsignedLongLong(given[3]);
    Py_buffer view;
    if (PyErr_Occurred() || PyObject_GetBuffer(given[0], &view, PyBUF_SIMPLE) < 0) return NULL;
    PyObject *body = NULL;
    if (at < 0 || at > end || end > view.len)
        PyErr_SetString(PyExc_ValueError, "that is outside of the bytes");
    else {
        size_t from = (size_t)at, counted = from;
        uint64_t then = left;
        size_t size = walk(view.buf, &counted, (size_t)end, &then, NULL);
        body = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
        if (body != NULL) walk(view.buf, &from, (size_t)end, &left, (uint8_t *)PyBytes_AsString(body));
        at = (Py_ssize_t)from;
    }
    PyBuffer_Release(&view);
    return body == NULL ? NULL : Py_BuildValue("(NnK)", body, at, (unsigned long long)left);
}
