/* The gist of a core/v1 Pod on the wire: what its record is made of, without parsing it into objects.
 *
 * gist(raw, members, ranks, notes) -> None | (key, name, uid, version, node, ip, created, started, members)
 *
 * `key` spells out, without ambiguity, every field that a record reads, but for those that differ between
 * pods that are otherwise alike; these come beside it. Two pods of one key have the same record in all other
 * respects, so that it is made once (cockpit.kube.decode.alike). None: the object is out of the ordinary
 * in some way, and the parser has to decide. Nothing here is a judgement about an object: whatever is not
 * plainly well-formed, is too long or comes twice is left to the parser.
 *
 * Field numbers: k8s.io/api core/v1/generated.proto and apimachinery meta/v1/generated.proto (v0.36), as in
 * kube/proto/core.proto. Every field of core.proto below Pod is named in the tables, or has no meaning for
 * a record; tests/unit/kube/test_alike.py walks core.proto and compares with what the parser finds.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define KEY_BYTES 16384
#define MEMBER_BYTES 1024
#define TEXT_BYTES 253

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum action { KEEP, INTO, WALK, SLOT, LABEL, NOTE };
enum slot { NAME, UID, VERSION, NODE, IP, CREATED, STARTED, SLOTS };

typedef struct field {
    uint8_t number, wire, action, slot;
    const struct field *child;
} field;

#define END {0, 0, 0, 0, NULL}

static const field ANYTHING[] = {END}; /* nothing is taken from it, but it has to be well-formed */

static const field META[] = {
    {1, BYTES, SLOT, NAME, NULL},     {3, BYTES, KEEP, 0, NULL},         {5, BYTES, SLOT, UID, NULL},
    {6, BYTES, SLOT, VERSION, NULL},  {8, BYTES, SLOT, CREATED, NULL},   {9, BYTES, KEEP, 0, NULL},
    {11, BYTES, LABEL, 0, NULL},      {12, BYTES, NOTE, 0, NULL},        {13, BYTES, KEEP, 0, NULL},
    END};

static const field SOURCE[] = {{10, BYTES, KEEP, 0, NULL}, END};
static const field VOLUME[] = {{2, BYTES, INTO, 0, SOURCE}, END};
static const field CONTAINER[] = {{1, BYTES, KEEP, 0, NULL}, {2, BYTES, KEEP, 0, NULL},  {6, BYTES, KEEP, 0, NULL},
                                  {8, BYTES, KEEP, 0, NULL}, {24, BYTES, KEEP, 0, NULL}, END};
static const field AFFINITY[] = {{3, BYTES, KEEP, 0, NULL}, END};
static const field SPEC[] = {
    {1, BYTES, INTO, 0, VOLUME},      {2, BYTES, INTO, 0, CONTAINER}, {10, BYTES, SLOT, NODE, NULL},
    {11, VARINT, KEEP, 0, NULL},      {18, BYTES, INTO, 0, AFFINITY}, {19, BYTES, KEEP, 0, NULL},
    {20, BYTES, INTO, 0, CONTAINER},  {24, BYTES, KEEP, 0, NULL},     {25, VARINT, KEEP, 0, NULL},
    {32, BYTES, KEEP, 0, NULL},       {38, BYTES, KEEP, 0, NULL},     {40, BYTES, KEEP, 0, NULL},
    {43, BYTES, KEEP, 0, NULL},       END};

static const field CONDITION[] = {{1, BYTES, KEEP, 0, NULL}, {2, BYTES, KEEP, 0, NULL}, {4, BYTES, WALK, 0, ANYTHING},
                                  {5, BYTES, KEEP, 0, NULL}, {6, BYTES, KEEP, 0, NULL}, END};
static const field TERMINATED[] = {{1, VARINT, KEEP, 0, NULL},
                                   {3, BYTES, KEEP, 0, NULL},
                                   {5, BYTES, WALK, 0, ANYTHING},
                                   {6, BYTES, KEEP, 0, NULL},
                                   END};
static const field STATE[] = {{1, BYTES, KEEP, 0, NULL}, {3, BYTES, INTO, 0, TERMINATED}, END};
static const field CONTAINER_STATUS[] = {{1, BYTES, KEEP, 0, NULL},  {2, BYTES, INTO, 0, STATE},
                                         {3, BYTES, INTO, 0, STATE}, {4, VARINT, KEEP, 0, NULL},
                                         {5, VARINT, KEEP, 0, NULL}, END};
static const field STATUS[] = {
    {1, BYTES, KEEP, 0, NULL},  {2, BYTES, INTO, 0, CONDITION},        {3, BYTES, KEEP, 0, NULL},
    {4, BYTES, KEEP, 0, NULL},  {6, BYTES, SLOT, IP, NULL},            {7, BYTES, SLOT, STARTED, NULL},
    {8, BYTES, INTO, 0, CONTAINER_STATUS}, {10, BYTES, INTO, 0, CONTAINER_STATUS}, END};

static const field POD[] = {{1, BYTES, INTO, 0, META}, {2, BYTES, INTO, 0, SPEC}, {3, BYTES, INTO, 0, STATUS}, END};

typedef struct {
    const uint8_t *at;
    size_t size;
} text;

typedef struct {
    uint8_t key[KEY_BYTES];
    size_t key_size;
    uint8_t members[MEMBER_BYTES];
    size_t members_size;
    text slots[SLOTS];
    text member_labels, rank_notes, notes; /* names, each ended by a line feed */
} gist;

/* A varint of at most 10 bytes; 0 where there is none. */
static int varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    uint64_t sum = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (*at >= end) return 0;
        uint8_t byte = *(*at)++;
        if (shift == 63 && byte > 1) return 0;
        sum |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *value = sum;
            return 1;
        }
    }
    return 0;
}

static int put(gist *g, const void *data, size_t size) {
    if (size > KEY_BYTES - g->key_size) return 0;
    memcpy(g->key + g->key_size, data, size);
    g->key_size += size;
    return 1;
}

static int put_bytes(gist *g, uint8_t number, const uint8_t *data, size_t size) {
    uint32_t length = (uint32_t)size; /* an object is far below 4 GiB: see gist_of */
    return put(g, &number, 1) && put(g, &length, sizeof length) && put(g, data, size);
}

static int is_named(text names, const uint8_t *name, size_t size) {
    const uint8_t *at = names.at, *end = names.at + names.size;
    while (at < end) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) return 0;
        if ((size_t)(stop - at) == size && memcmp(at, name, size) == 0) return 1;
        at = stop + 1;
    }
    return 0;
}

/* A label or annotation as Go writes it: key, then value, nothing else. Plain names only: a strange one is
 * the parser's to refuse, also where its value is not used. */
static int put_pair(gist *g, const field *one, const uint8_t *entry, size_t size) {
    const uint8_t *at = entry, *end = entry + size;
    uint64_t length;
    if (at >= end || *at++ != 0x0A || !varint(&at, end, &length) || length > (uint64_t)(end - at)) return 0;
    const uint8_t *name = at;
    size_t name_size = (size_t)length;
    at += name_size;
    for (size_t i = 0; i < name_size; i++)
        if (name[i] < 0x20 || name[i] > 0x7E) return 0;
    if (at >= end || *at++ != 0x12 || !varint(&at, end, &length) || length != (uint64_t)(end - at)) return 0;
    if (is_named(one->action == LABEL ? g->member_labels : g->rank_notes, name, name_size)) {
        if (size > 0x7F || size + 2 > MEMBER_BYTES - g->members_size) return 0;
        g->members[g->members_size++] = (uint8_t)(one->number << 3 | BYTES);
        g->members[g->members_size++] = (uint8_t)size;
        memcpy(g->members + g->members_size, entry, size);
        g->members_size += size;
        return 1;
    }
    if (one->action == NOTE && !is_named(g->notes, name, name_size)) return 1;
    return put_bytes(g, one->number, entry, size);
}

static int scan(gist *g, const field *fields, const uint8_t *at, const uint8_t *end);

static int take(gist *g, const field *one, const uint8_t *data, size_t size) {
    const uint8_t stop = 0;
    switch (one->action) {
    case KEEP:
        return put_bytes(g, one->number, data, size);
    case INTO:
        return put(g, &one->number, 1) && scan(g, one->child, data, data + size) && put(g, &stop, 1);
    case WALK:
        return scan(g, one->child, data, data + size);
    case SLOT:
        if (g->slots[one->slot].at != NULL) return 0; /* the parser merges what comes twice */
        g->slots[one->slot].at = data;
        g->slots[one->slot].size = size;
        return 1;
    default:
        return put_pair(g, one, data, size);
    }
}

/* One message; 0 where the parser has to decide. */
static int scan(gist *g, const field *fields, const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        uint64_t tag, value;
        if (!varint(&at, end, &tag) || tag > UINT32_MAX || tag >> 3 == 0) return 0;
        const field *one = fields;
        while (one->number != 0 && one->number != tag >> 3) one++;
        if (one->number != 0 && one->wire != (tag & 7)) return 0;
        switch (tag & 7) {
        case VARINT:
            if (!varint(&at, end, &value)) return 0;
            if (one->number != 0 && !(put(g, &one->number, 1) && put(g, &value, sizeof value))) return 0;
            break;
        case FIXED64:
        case FIXED32:
            value = (tag & 7) == FIXED64 ? 8 : 4;
            if (value > (uint64_t)(end - at)) return 0;
            at += value;
            break;
        case BYTES:
            if (!varint(&at, end, &value) || value > (uint64_t)(end - at)) return 0;
            if (one->number != 0 && !take(g, one, at, (size_t)value)) return 0;
            at += value;
            break;
        default:
            return 0;
        }
    }
    return 1;
}

static int is_plain(text one) {
    if (one.size > TEXT_BYTES) return 0;
    for (size_t i = 0; i < one.size; i++)
        if (one.at[i] < 0x20 || one.at[i] > 0x7E) return 0;
    return 1;
}

static text text_of(PyObject *bytes) {
    char *data = NULL;
    Py_ssize_t size = 0;
    text made = {NULL, 0};
    if (PyBytes_AsStringAndSize(bytes, &data, &size) == 0) {
        made.at = (const uint8_t *)data;
        made.size = (size_t)size;
    }
    return made;
}

static PyObject *answer(const gist *g) {
    PyObject *made = PyTuple_New(SLOTS + 2);
    if (made == NULL) return NULL;
    for (int i = 0; i < SLOTS + 2; i++) {
        PyObject *item;
        if (i == 0)
            item = PyBytes_FromStringAndSize((const char *)g->key, (Py_ssize_t)g->key_size);
        else if (i == SLOTS + 1)
            item = PyBytes_FromStringAndSize((const char *)g->members, (Py_ssize_t)g->members_size);
        else {
            const text *one = &g->slots[i - 1];
            const char *data = one->at == NULL ? "" : (const char *)one->at;
            item = i - 1 >= CREATED ? PyBytes_FromStringAndSize(data, (Py_ssize_t)one->size)
                                    : PyUnicode_FromStringAndSize(data, (Py_ssize_t)one->size);
        }
        if (item == NULL || PyTuple_SetItem(made, i, item) < 0) {
            Py_DECREF(made);
            return NULL;
        }
    }
    return made;
}

static PyObject *gist_of(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    (void)self;
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "gist takes the object, member labels, rank annotations and annotations");
        return NULL;
    }
    gist g;
    g.key_size = g.members_size = 0;
    memset(g.slots, 0, sizeof g.slots);
    text raw = text_of(given[0]);
    g.member_labels = text_of(given[1]);
    g.rank_notes = text_of(given[2]);
    g.notes = text_of(given[3]);
    if (PyErr_Occurred()) return NULL;
    if (raw.size > UINT32_MAX || !scan(&g, POD, raw.at, raw.at + raw.size) || g.slots[UID].size == 0) Py_RETURN_NONE;
    for (int i = 0; i < CREATED; i++)
        if (!is_plain(g.slots[i])) Py_RETURN_NONE;
    return answer(&g);
}

/* A field of bytes that has to be the next one; its content is all that is left, where `is_last`. */
static int next_bytes(const uint8_t **at, const uint8_t *end, uint8_t tag, int is_last, text *content) {
    uint64_t size;
    if (*at >= end || *(*at)++ != tag || !varint(at, end, &size) || size > (uint64_t)(end - *at)) return 0;
    if (is_last && size != (uint64_t)(end - *at)) return 0;
    content->at = *at;
    content->size = (size_t)size;
    *at += size;
    return 1;
}

static PyObject *opened(PyObject *self, PyObject *frame) {
    (void)self;
    text whole = text_of(frame), type, object, raw, about, inner;
    if (PyErr_Occurred()) return NULL;
    const uint8_t *at = whole.at, *end = at + whole.size;
    if (!next_bytes(&at, end, 0x0A, 0, &type) || !next_bytes(&at, end, 0x12, 1, &object)) Py_RETURN_NONE;
    at = object.at;
    if (!next_bytes(&at, end, 0x0A, 1, &raw) || raw.size < 4 || memcmp(raw.at, "k8s", 4) != 0) Py_RETURN_NONE;
    at = raw.at + 4;
    if (!next_bytes(&at, end, 0x0A, 0, &about) || !next_bytes(&at, end, 0x12, 0, &inner)) Py_RETURN_NONE;
    /* contentEncoding and contentType follow, which the server leaves empty */
    if (at != end && !(end - at == 4 && memcmp(at, "\x1a\x00\x22\x00", 4) == 0)) Py_RETURN_NONE;
    if (type.size > TEXT_BYTES || !is_plain(type)) Py_RETURN_NONE;
    return Py_BuildValue("(s#y#)", (const char *)type.at, (Py_ssize_t)type.size, (const char *)inner.at,
                         (Py_ssize_t)inner.size);
}

static PyMethodDef METHODS[] = {
    {"opened", opened, METH_O, "Type and raw object of a watch event, or None (cockpit.kube.decode.envelope)."},
    {"gist", (PyCFunction)(void (*)(void))gist_of, METH_FASTCALL, "The gist of a Pod on the wire, or None."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_gist", NULL, 0, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__gist(void) { return PyModule_Create(&MODULE); }
