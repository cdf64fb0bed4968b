/* What Python sees of the gist (cockpit.kube.decode.pod_memo): records of pods made from ones that are alike, the
 * gist of a node, and the envelope of a watch event.
 *
 * Limited API of 3.11, so that one library serves all later versions.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "_gist.h"

#define FETCHED_LINES 96 /* of 64 bytes: a pod has 6 to 9 kB */

typedef PyObject *const *arguments;

PyObject *unchunked(PyObject *module, arguments given, Py_ssize_t count); /* _gistchunks.c */

static text text_of(PyObject *bytes) {
    char *data = NULL;
    Py_ssize_t size = 0;
    text made = {NULL, 0};
    if (PyBytes_AsStringAndSize(bytes, &data, &size) == 0) made = (text){(const uint8_t *)data, (size_t)size};
    return made;
}

static PyObject *bytes_of(text one) {
    return PyBytes_FromStringAndSize(one.at == NULL ? "" : (const char *)one.at, (Py_ssize_t)one.size);
}

static PyObject *string_of(text one) {
    return PyUnicode_FromStringAndSize(one.at == NULL ? "" : (const char *)one.at, (Py_ssize_t)one.size);
}

static PyObject *part_of(const gist *g, enum part which) { return bytes_of((text){g->part[which], g->part_size[which]}); }

/* Four bytes objects of names, which have to stay as long as `made`. */
static int interest_of(PyObject *given, interest *made) {
    names *const all[] = {&made->aside, &made->noted_aside, &made->noted, &made->prefixes};
    if (PyTuple_Size(given) != 4) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "four lists of names are wanted");
        return 0;
    }
    for (Py_ssize_t i = 0; i < 4; i++) {
        text one = text_of(PyTuple_GetItem(given, i));
        if (PyErr_Occurred()) return 0;
        if (!names_of(one, all[i])) {
            PyErr_SetString(PyExc_ValueError, "too many names, one that is too long or no line feed at the end");
            return 0;
        }
    }
    return 1;
}

/* ---- members: pods that are alike */

enum field { F_NAME, F_UID, F_VERSION, F_NODE, F_IP, F_CREATED, F_STARTED, F_GROUP, F_RANK, FIELDS };
static const char *const FIELD_NAMES[FIELDS] = {"name",   "uid",             "resource_version", "node",
                                                "pod_ip", "created_seconds", "started_seconds",  "group", "rank"};

typedef struct {
    PyObject_HEAD
    interest of;
    PyObject *held;   /* the names that `of` points into */
    PyObject *like;   /* dict: hash of a key -> (key, the first record) */
    PyObject *type;   /* of the records */
    PyObject *copy;   /* its __copy__ */
    PyObject *members[FIELDS]; /* its member descriptors, by which a fresh copy gets what differs */
    descrsetfunc set[FIELDS];
    PyObject *words, *moments, *seats; /* memos: subscripted */
    Py_ssize_t kept;
    PyObject *last; /* what `like` had for the key before, NULL after it changed: members of a job come in a row */
    text last_key;
    struct {
        uint8_t raw[24];
        size_t size;
        PyObject *moment;
    } times[2]; /* and they were created and started together */
} members;

static void members_free(PyObject *object) {
    members *self = (members *)object;
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < FIELDS; i++) Py_XDECREF(self->members[i]);
    Py_XDECREF(self->held);
    Py_XDECREF(self->like);
    Py_XDECREF(self->type);
    Py_XDECREF(self->copy);
    Py_XDECREF(self->words);
    Py_XDECREF(self->moments);
    Py_XDECREF(self->seats);
    Py_XDECREF(self->last);
    for (int i = 0; i < 2; i++) Py_XDECREF(self->times[i].moment);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* (names, record type, words, moments, seats, how many to remember) */
static PyObject *members_new(PyTypeObject *type, PyObject *given, PyObject *named) {
    PyObject *held, *record, *words, *moments, *seats;
    Py_ssize_t kept;
    (void)named;
    if (!PyArg_ParseTuple(given, "O!OOOOn", &PyTuple_Type, &held, &record, &words, &moments, &seats, &kept)) return NULL;
    members *self = (members *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) return NULL;
    self->held = Py_NewRef(held);
    self->type = Py_NewRef(record);
    self->words = Py_NewRef(words);
    self->moments = Py_NewRef(moments);
    self->seats = Py_NewRef(seats);
    self->kept = kept;
    self->like = PyDict_New();
    self->copy = PyObject_GetAttrString(record, "__copy__");
    int is_sound = self->like != NULL && self->copy != NULL && interest_of(held, &self->of);
    for (int i = 0; is_sound && i < FIELDS; i++) {
        self->members[i] = PyObject_GetAttrString(record, FIELD_NAMES[i]);
        is_sound = self->members[i] != NULL;
        if (!is_sound) break;
        self->set[i] = (descrsetfunc)PyType_GetSlot(Py_TYPE(self->members[i]), Py_tp_descr_set);
        if (self->set[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s is no member of the record", FIELD_NAMES[i]);
            is_sound = 0;
        }
    }
    if (!is_sound) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

/* Multiplies and folds 16 bytes a step. Whoever makes two keys of one hash gains that the parser is asked. */
static uint64_t hash_of(text key) {
    const uint64_t odd = 0x9E3779B97F4A7C15u;
    uint64_t one = key.size, two = odd, words[2];
    size_t at = 0;
    for (; at + 16 <= key.size; at += 16) {
        memcpy(words, key.at + at, 16);
        one = (one ^ words[0]) * odd;
        two = (two ^ words[1]) * odd;
        one ^= one >> 32;
        two ^= two >> 29;
    }
    memset(words, 0, sizeof words);
    memcpy(words, key.at + at, key.size - at);
    one = ((one ^ words[0]) * odd) ^ ((two ^ words[1]) * odd >> 31);
    return one ^ one >> 32;
}

static text key_of(const gist *g) { return (text){g->key, g->key_size}; }

static int is_key(text key, const gist *g) { return key.size == g->key_size && memcmp(key.at, g->key, key.size) == 0; }

/* The first record of that key, borrowed; NULL where there is none, maybe with an error set. */
static PyObject *first_of(members *self, const gist *g) {
    if (self->last == NULL || !is_key(self->last_key, g)) {
        PyObject *hash = PyLong_FromUnsignedLongLong(hash_of(key_of(g)));
        if (hash == NULL) return NULL;
        PyObject *found = PyDict_GetItemWithError(self->like, hash);
        Py_DECREF(hash);
        if (found == NULL) return NULL;
        Py_XDECREF(self->last);
        self->last = Py_NewRef(found);
        self->last_key = text_of(PyTuple_GetItem(found, 0));
        if (!is_key(self->last_key, g)) return NULL;
    }
    return PyTuple_GetItem(self->last, 1);
}

/* memo[what]; takes `what` over, which may be NULL after an error. */
static PyObject *looked_up(PyObject *memo, PyObject *what) {
    if (what == NULL) return NULL;
    PyObject *found = PyObject_GetItem(memo, what);
    Py_DECREF(what);
    return found;
}

/* The moment of a Time on the wire: 0 created, 1 started. */
static PyObject *moment_of(members *self, int which, text raw) {
    if (self->times[which].moment != NULL && self->times[which].size == raw.size &&
        (raw.size == 0 || memcmp(self->times[which].raw, raw.at, raw.size) == 0))
        return Py_NewRef(self->times[which].moment);
    PyObject *found = looked_up(self->moments, bytes_of(raw));
    if (found != NULL && raw.size <= sizeof self->times[which].raw) {
        PyObject *before = self->times[which].moment;
        if (raw.size) memcpy(self->times[which].raw, raw.at, raw.size);
        self->times[which].size = raw.size;
        self->times[which].moment = Py_NewRef(found);
        Py_XDECREF(before);
    }
    return found;
}

/* What differs, into a copy of the first record; 0 with an error set. */
static int fill(members *self, const gist *g, PyObject *record) {
    PyObject *seat = looked_up(self->seats, part_of(g, MEMBER)); /* (group, rank) */
    if (seat == NULL) return 0;
    for (int i = 0; i < FIELDS; i++) {
        PyObject *value;
        switch (i) {
        case F_NODE:
            value = looked_up(self->words, string_of(g->slots[PLACE]));
            break;
        case F_CREATED:
            value = moment_of(self, 0, g->slots[CREATED]);
            break;
        case F_STARTED:
            value = moment_of(self, 1, g->slots[STARTED]);
            break;
        case F_GROUP:
        case F_RANK:
            value = PyTuple_GetItem(seat, i == F_RANK);
            Py_XINCREF(value);
            break;
        default: /* plain, so there is nothing to clean */
            value = string_of(g->slots[i == F_NAME ? NAME : i == F_UID ? UID : i == F_VERSION ? VERSION : ADDRESS]);
        }
        int failed = value == NULL || self->set[i](self->members[i], record, value) < 0;
        Py_XDECREF(value);
        if (failed) {
            Py_DECREF(seat);
            return 0;
        }
    }
    Py_DECREF(seat);
    return 1;
}

static PyObject *copied(members *self, const gist *g, PyObject *first) {
    Py_INCREF(first); /* the memos run Python */
    PyObject *record = PyObject_CallFunctionObjArgs(self->copy, first, NULL);
    Py_DECREF(first);
    if (record != NULL && !fill(self, g, record)) Py_CLEAR(record);
    return record;
}

/* What a pod is made of: (key, volumes, metadata, node, address, started). The key is of spec and status and ends with the
 * volumes; None where the spec names a pod group, too. Spoils the key of the gist. */
static PyObject *parts_of(gist *g) {
    PyObject *key;
    if (g->has_group || g->meta.at == NULL)
        key = Py_NewRef(Py_None);
    else {
        memmove(g->key + g->meta_begins, g->key + g->meta_ends, g->key_size - g->meta_ends);
        g->key_size -= g->meta_ends - g->meta_begins;
        key = bytes_of(key_of(g));
    }
    return Py_BuildValue("(NNNNNN)", key, part_of(g, VOLUMES), bytes_of(g->meta), string_of(g->slots[PLACE]),
                         string_of(g->slots[ADDRESS]), bytes_of(g->slots[STARTED]));
}

static int learn(members *self, PyObject *key, PyObject *record) {
    Py_CLEAR(self->last);
    if (PyDict_Size(self->like) >= self->kept) PyDict_Clear(self->like);
    PyObject *hash = PyLong_FromUnsignedLongLong(hash_of(text_of(key)));
    PyObject *known = PyTuple_Pack(2, key, record);
    int failed = hash == NULL || known == NULL || PyDict_SetItem(self->like, hash, known) < 0;
    Py_XDECREF(hash);
    Py_XDECREF(known);
    return !failed;
}

/* The record of the first of its kind, from Python's `read`, and remembered. */
static PyObject *first_read(members *self, gist *g, text raw, PyObject *read) {
    PyObject *key = bytes_of(key_of(g)), *whole = bytes_of(raw), *parts = parts_of(g), *record = NULL;
    if (key != NULL && whole != NULL && parts != NULL) record = PyObject_CallFunctionObjArgs(read, whole, parts, NULL);
    if (record != NULL && (PyObject *)Py_TYPE(record) != self->type) {
        PyErr_SetString(PyExc_TypeError, "what was read is no record");
        Py_CLEAR(record);
    }
    if (record != NULL && !learn(self, key, record)) Py_CLEAR(record);
    Py_XDECREF(key);
    Py_XDECREF(whole);
    Py_XDECREF(parts);
    return record;
}

/* The record of one pod; NULL where the parser has to decide, with an error set where that is not allowed. */
static PyObject *record_of(members *self, gist *g, text raw, PyObject *read) {
    if (!pod_gist(g, &self->of, raw)) return NULL;
    PyObject *first = first_of(self, g), *record = NULL;
    if (first != NULL)
        record = copied(self, g, first);
    else if (!PyErr_Occurred())
        record = first_read(self, g, raw, read);
    if (record == NULL && PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError))
        PyErr_Clear(); /* the parser says what is wrong */
    return record;
}

/* one(raw, read): the record of a pod, None where the parser has to decide. */
static PyObject *members_one(PyObject *object, arguments given, Py_ssize_t count) {
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "one takes the object and who reads the first of its kind");
        return NULL;
    }
    gist g;
    text raw = text_of(given[0]);
    if (PyErr_Occurred()) return NULL;
    PyObject *made = record_of((members *)object, &g, raw, given[1]);
    if (made == NULL && !PyErr_Occurred()) Py_RETURN_NONE;
    return made;
}

/* The next frame behind a 4-byte length; 0 where it is not whole, or longer than that. */
static int next_frame(text data, size_t at, size_t longest, text *frame) {
    if (data.size - at < 4) return 0;
    const uint8_t *head = data.at + at;
    size_t size = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    if (size > longest || size > data.size - at - 4) return 0;
    *frame = (text){head + 4, size};
    return 1;
}

/* The frame behind is fetched while this one is read: the walk jumps, so that the processor does not foresee it.
 * 2.1 us a pod instead of 2.7 where the bytes are out of the cache, 0.1 more where they are in it. */
static void fetch(const uint8_t *at, const uint8_t *end) {
#if defined(__GNUC__)
    for (int line = 0; line < FETCHED_LINES && at < end; line++, at += 64) __builtin_prefetch(at);
#else
    (void)at;
    (void)end;
#endif
}

/* run(data, at, most, longest_bytes, read) -> (records, at): up to the first frame that is no added pod, or that only
 * the parser can read. */
static PyObject *members_run(PyObject *object, arguments given, Py_ssize_t count) {
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError, "run takes the bytes, where to begin, how many objects, the longest frame, read");
        return NULL;
    }
    text data = text_of(given[0]), frame, type, raw;
    Py_ssize_t at = PyLong_AsSsize_t(given[1]), most = PyLong_AsSsize_t(given[2]), longest = PyLong_AsSsize_t(given[3]);
    if (PyErr_Occurred()) return NULL;
    if (at < 0 || (size_t)at > data.size || longest < 0) {
        PyErr_SetString(PyExc_ValueError, "that is outside of the bytes");
        return NULL;
    }
    PyObject *made = PyList_New(0);
    if (made == NULL) return NULL;
    gist g;
    while (most-- > 0 && next_frame(data, (size_t)at, (size_t)longest, &frame) && event_of(frame, &type, &raw) &&
           type.size == 5 && memcmp(type.at, "ADDED", 5) == 0) {
        fetch(frame.at + frame.size, data.at + data.size);
        PyObject *record = record_of((members *)object, &g, raw, given[4]);
        if (record == NULL) break;
        int failed = PyList_Append(made, record);
        Py_DECREF(record);
        if (failed) break;
        at += 4 + (Py_ssize_t)frame.size;
    }
    if (PyErr_Occurred()) {
        Py_DECREF(made);
        return NULL;
    }
    return Py_BuildValue("(Nn)", made, at);
}

static PyMethodDef MEMBERS_METHODS[] = {
    {"one", (PyCFunction)(void (*)(void))members_one, METH_FASTCALL, "The record of a pod, or None."},
    {"run", (PyCFunction)(void (*)(void))members_run, METH_FASTCALL, "Records of added pods, and where they end."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot MEMBERS_SLOTS[] = {
    {Py_tp_new, members_new}, {Py_tp_dealloc, members_free}, {Py_tp_methods, MEMBERS_METHODS}, {0, NULL}};
static PyType_Spec MEMBERS = {"cockpit.kube.decode._gist.Members", sizeof(members), 0, Py_TPFLAGS_DEFAULT, MEMBERS_SLOTS};

/* ---- nodes */

/* What a memo has for each of the labels, in their order. */
static PyObject *labels_of(const gist *g, PyObject *memo) {
    PyObject *labels = PyTuple_New(g->label_count);
    for (int i = 0; labels != NULL && i < g->label_count; i++) {
        PyObject *label = looked_up(memo, bytes_of(g->labels[i]));
        if (label == NULL || PyTuple_SetItem(labels, i, label) < 0) Py_CLEAR(labels);
    }
    return labels;
}

/* node(raw, names, labels) -> None | (key, name, uid, version, provider id, address, created, conditions, amounts,
 * annotations, labels): `labels` has a pair for each entry of the map, and may raise what it likes. */
static PyObject *node(PyObject *module, arguments given, Py_ssize_t count) {
    (void)module;
    interest of;
    gist g;
    if (count != 3 || !PyTuple_Check(given[1])) {
        PyErr_SetString(PyExc_TypeError, "node takes the object, four lists of names and what labels read as");
        return NULL;
    }
    text raw = text_of(given[0]);
    if (PyErr_Occurred() || !interest_of(given[1], &of)) return NULL;
    if (!node_gist(&g, &of, raw)) Py_RETURN_NONE;
    PyObject *labels = labels_of(&g, given[2]);
    if (labels == NULL) return NULL;
    return Py_BuildValue("(NNNNNNNNNNN)", bytes_of(key_of(&g)), string_of(g.slots[NAME]),
                         string_of(g.slots[UID]), string_of(g.slots[VERSION]), string_of(g.slots[PLACE]),
                         string_of(g.slots[ADDRESS]), bytes_of(g.slots[CREATED]), part_of(&g, CONDITIONS),
                         part_of(&g, AMOUNTS), part_of(&g, NOTES), labels);
}

static PyObject *opened(PyObject *module, PyObject *given) {
    (void)module;
    text frame = text_of(given), type, object;
    if (PyErr_Occurred()) return NULL;
    if (!event_of(frame, &type, &object)) Py_RETURN_NONE;
    return Py_BuildValue("(NN)", string_of(type), bytes_of(object));
}

static PyMethodDef METHODS[] = {
    {"opened", opened, METH_O, "Type and raw object of a watch event, or None (cockpit.kube.decode.envelope)."},
    {"unchunked", (PyCFunction)(void (*)(void))unchunked, METH_FASTCALL, "A body out of chunks (cockpit.kube.chunked)."},
    {"node", (PyCFunction)(void (*)(void))node, METH_FASTCALL, "The gist of a Node on the wire, or None."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_gist", NULL, -1, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__gist(void) {
    PyObject *made = PyModule_Create(&MODULE);
    PyObject *type = made == NULL ? NULL : PyType_FromSpec(&MEMBERS);
    if (type == NULL || PyModule_AddObjectRef(made, "Members", type) < 0) Py_CLEAR(made);
    Py_XDECREF(type);
    return made;
}
