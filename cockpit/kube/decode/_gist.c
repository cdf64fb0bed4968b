/* The gist of a core/v1 Pod or Node: which fields its record reads, and a walk along the wire that finds them.
 *
 * The key spells out, without ambiguity, every field that a record reads, but for those that stand in slots and
 * parts. Two objects of one key have the same record in all other respects, so that it is made once
 * (cockpit.kube.decode.pod_memo). The tables name every field that cockpit/kube/proto/core.proto names, so that
 * what the parser would refuse is never accepted here: tests/unit/kube/test_pod_memo.py walks core.proto and
 * compares with what the parser finds.
 *
 * Field numbers: k8s.io/api core/v1/generated.proto and apimachinery meta/v1/generated.proto (v0.36).
 */
#include "_gist.h"

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

enum action {
    NOTHING,
    KEEP,       /* into the key as it is */
    INTO,       /* the fields of `child`, as a message in the key */
    WALK,       /* read by no record, but it has to be well-formed: the parser reads it */
    SLOT,       /* differs between objects that are alike */
    PART,       /* into a part as it is */
    PART_INTO,  /* the fields of `child`, as a message in the part */
    META,       /* as INTO, and noted where it is: once only */
    GROUP,      /* as KEEP, and noted that it is there */
    POD_LABEL,
    POD_NOTE,
    NODE_LABEL,
    NODE_NOTE,
    NODE_ADDRESS,
};

struct table;
typedef struct {
    uint8_t wire, action, which; /* a slot or a part */
    const struct table *child;
} field;
typedef struct table { /* by field number */
    size_t count;
    const field *fields;
} table;

#define TABLE(name, ...)                                                                                              \
    static const field name##_FIELDS[] = {__VA_ARGS__};                                                               \
    static const table name = {sizeof name##_FIELDS / sizeof(field), name##_FIELDS}
#define KEPT {BYTES, KEEP, 0, NULL}
#define KEPT_NUMBER {VARINT, KEEP, 0, NULL}
#define IN(child) {BYTES, INTO, 0, &child}
#define ASIDE(slot) {BYTES, SLOT, slot, NULL}
#define IN_PART(part) {BYTES, PART, part, NULL}
#define INTO_PART(part, child) {BYTES, PART_INTO, part, &child}

#define POD_FIELDS_END 4 /* above the fields of a Pod: its volumes follow */

static const table TIME = {0, NULL};

TABLE(POD_META, [1] = ASIDE(NAME), [3] = KEPT, [5] = ASIDE(UID), [6] = ASIDE(VERSION), [8] = ASIDE(CREATED),
      [9] = KEPT, [11] = {BYTES, POD_LABEL, 0, NULL}, [12] = {BYTES, POD_NOTE, 0, NULL}, [13] = KEPT, [14] = KEPT);
TABLE(VOLUME_SOURCE, [1] = IN_PART(VOLUMES), [2] = IN_PART(VOLUMES), [10] = IN_PART(VOLUMES), [19] = IN_PART(VOLUMES));
TABLE(VOLUME, [2] = INTO_PART(VOLUMES, VOLUME_SOURCE));
TABLE(CONTAINER, [1] = KEPT, [2] = KEPT, [6] = KEPT, [8] = KEPT, [24] = KEPT);
TABLE(AFFINITY, [1] = KEPT, [2] = KEPT, [3] = KEPT);
TABLE(POD_SPEC, [1] = INTO_PART(VOLUMES, VOLUME), [2] = IN(CONTAINER), [7] = KEPT, [8] = KEPT, [10] = ASIDE(PLACE),
      [11] = KEPT_NUMBER, [18] = IN(AFFINITY), [19] = KEPT, [20] = IN(CONTAINER), [22] = KEPT, [24] = KEPT,
      [25] = KEPT_NUMBER, [29] = KEPT, [31] = KEPT, [32] = KEPT, [33] = KEPT, [38] = KEPT, [39] = KEPT, [40] = KEPT,
      [43] = {BYTES, GROUP, 0, NULL});
TABLE(POD_CONDITION, [1] = KEPT, [2] = KEPT, [4] = {BYTES, WALK, 0, &TIME}, [5] = KEPT, [6] = KEPT);
TABLE(TERMINATED, [1] = KEPT_NUMBER, [3] = KEPT, [5] = {BYTES, WALK, 0, &TIME}, [6] = KEPT);
TABLE(STATE, [1] = KEPT, [3] = IN(TERMINATED));
TABLE(CONTAINER_STATUS, [1] = KEPT, [2] = IN(STATE), [3] = IN(STATE), [4] = KEPT_NUMBER, [5] = KEPT_NUMBER);
TABLE(POD_STATUS, [1] = KEPT, [2] = IN(POD_CONDITION), [3] = KEPT, [4] = KEPT, [6] = ASIDE(ADDRESS),
      [7] = ASIDE(STARTED), [8] = IN(CONTAINER_STATUS), [10] = IN(CONTAINER_STATUS), [11] = KEPT);
TABLE(POD, [1] = {BYTES, META, 0, &POD_META}, [2] = IN(POD_SPEC), [3] = IN(POD_STATUS));

TABLE(NODE_META, [1] = ASIDE(NAME), [3] = KEPT, [5] = ASIDE(UID), [6] = ASIDE(VERSION), [8] = ASIDE(CREATED),
      [9] = KEPT, [11] = {BYTES, NODE_LABEL, 0, NULL}, [12] = {BYTES, NODE_NOTE, 0, NULL}, [13] = KEPT, [14] = KEPT);
TABLE(NODE_SPEC, [3] = ASIDE(PLACE), [4] = KEPT_NUMBER, [5] = KEPT);
TABLE(NODE_CONDITION, [1] = IN_PART(CONDITIONS), [2] = IN_PART(CONDITIONS), [4] = IN_PART(CONDITIONS),
      [5] = IN_PART(CONDITIONS), [6] = IN_PART(CONDITIONS));
TABLE(NODE_INFO, [7] = KEPT);
TABLE(NODE_STATUS, [1] = IN_PART(AMOUNTS), [2] = IN_PART(AMOUNTS), [4] = INTO_PART(CONDITIONS, NODE_CONDITION),
      [5] = {BYTES, NODE_ADDRESS, 0, NULL}, [7] = IN(NODE_INFO));
TABLE(NODE, [1] = IN(NODE_META), [2] = IN(NODE_SPEC), [3] = IN(NODE_STATUS));

#define HEAD_BYTES 5

#define ALL(byte) (0x0101010101010101u * (byte))

int is_plain(text one) {
    const uint8_t *at = one.at;
    size_t left = one.size;
    for (; left >= 8; at += 8, left -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        /* a byte below 0x20, or one above 0x7E */
        if ((((word - ALL(0x20)) & ~word) | (word + ALL(1)) | word) & ALL(0x80)) return 0;
    }
    for (; left; at++, left--)
        if (*at < 0x20 || *at > 0x7E) return 0;
    return 1;
}

static int is_ascii(text one) {
    const uint8_t *at = one.at;
    size_t left = one.size;
    for (; left >= 8; at += 8, left -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        if (word & ALL(0x80)) return 0;
    }
    for (; left; at++, left--)
        if (*at & 0x80) return 0;
    return 1;
}

int names_of(text given, names *made) {
    const uint8_t *at = given.at, *end = given.at + given.size;
    made->count = 0;
    made->lengths = 0;
    while (at < end) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL || stop - at > 63 || made->count == NAMES) return 0;
        made->one[made->count++] = (text){at, (size_t)(stop - at)};
        made->lengths |= (uint64_t)1 << (stop - at);
        at = stop + 1;
    }
    return 1;
}

static int is_among(const names *all, text name) {
    if (name.size > 63 || !(all->lengths >> name.size & 1)) return 0;
    for (int i = 0; i < all->count; i++)
        if (all->one[i].size == name.size && memcmp(all->one[i].at, name.at, name.size) == 0) return 1;
    return 0;
}

static int begins_with_one(const names *all, text name) {
    for (int i = 0; i < all->count; i++)
        if (all->one[i].size <= name.size && memcmp(all->one[i].at, name.at, all->one[i].size) == 0) return 1;
    return 0;
}

static int put_byte(gist *g, uint8_t byte) {
    if (g->key_size == KEY_BYTES) return 0;
    g->key[g->key_size++] = byte;
    return 1;
}

static int put(gist *g, uint8_t number, text content) {
    uint32_t length = (uint32_t)content.size; /* an object is far below 4 GiB: see gist_of */
    if (KEY_BYTES - g->key_size < 5 || content.size > KEY_BYTES - g->key_size - 5) return 0;
    uint8_t *to = g->key + g->key_size;
    to[0] = number;
    memcpy(to + 1, &length, sizeof length);
    memcpy(to + 5, content.at, content.size);
    g->key_size += 5 + content.size;
    return 1;
}

/* The head of a field of bytes: five, for its length may be known afterwards only. The tag has no byte too many:
 * protobuf without its own part in C, as on musl, would take it for one of an unknown field. */
static void put_head(uint8_t *to, uint8_t number, size_t size) {
    unsigned tag = (unsigned)number << 3 | BYTES;
    uint8_t *const end = to + HEAD_BYTES - 1;
    if (tag > 0x7F) {
        *to++ = (uint8_t)(tag | 0x80);
        tag >>= 7;
    }
    *to++ = (uint8_t)tag;
    for (; to < end; size >>= 7) *to++ = (uint8_t)(size | 0x80);
    *to = (uint8_t)size;
}

static int put_part(gist *g, enum part which, uint8_t number, text content) {
    size_t left = PART_BYTES - g->part_size[which];
    if (left < HEAD_BYTES || content.size > left - HEAD_BYTES) return 0;
    uint8_t *to = g->part[which] + g->part_size[which];
    put_head(to, number, content.size);
    memcpy(to + HEAD_BYTES, content.at, content.size);
    g->part_size[which] += HEAD_BYTES + content.size;
    return 1;
}

/* A field of bytes that has to be the next one; its content is all that is left, where `is_last`. */
static int next_bytes(const uint8_t **at, const uint8_t *end, uint8_t tag, int is_last, text *content) {
    uint64_t size;
    if (*at >= end || *(*at)++ != tag || !varint(at, end, &size) || size > (uint64_t)(end - *at)) return 0;
    if (is_last && size != (uint64_t)(end - *at)) return 0;
    *content = (text){*at, (size_t)size};
    *at += size;
    return 1;
}

/* An entry of a map of strings, or an address, as Go writes it: field 1, then field 2, nothing else. Plain names
 * only: a strange one is the parser's to refuse, also where its value is not used. */
static int pair_of(text entry, text *name, text *value) {
    const uint8_t *at = entry.at, *end = entry.at + entry.size;
    return next_bytes(&at, end, 0x0A, 0, name) && next_bytes(&at, end, 0x12, 1, value) && is_plain(*name);
}

static int take_pod_pair(gist *g, uint8_t number, int is_note, text entry) {
    text name, value;
    if (!pair_of(entry, &name, &value)) return 0;
    if (is_among(is_note ? &g->of->noted_aside : &g->of->aside, name)) return put_part(g, MEMBER, number, entry);
    if (is_note && !is_among(&g->of->noted, name)) return 1;
    return put(g, number, entry);
}

static int take_node_label(gist *g, uint8_t number, text entry) {
    text name, value;
    if (!pair_of(entry, &name, &value) || name.size > TEXT_BYTES || g->label_count == LABELS) return 0;
    if (g->label_count) { /* ascending, as Go writes them: so none comes twice, and the record's are in order */
        text last = g->last_label;
        int order = memcmp(last.at, name.at, last.size < name.size ? last.size : name.size);
        if (order > 0 || (order == 0 && last.size >= name.size)) return 0;
    }
    g->last_label = name;
    g->labels[g->label_count++] = entry;
    return !is_among(&g->of->aside, name) || put(g, number, entry);
}

static int take_node_note(gist *g, uint8_t number, text entry) {
    text name, value;
    if (!pair_of(entry, &name, &value) || !is_ascii(value)) return 0; /* the parser reads every value */
    if (is_among(&g->of->noted, name) && !put(g, number, entry)) return 0;
    if (is_among(&g->of->noted_aside, name) && !put(g, number, name)) return 0; /* begins unlike an entry */
    return !begins_with_one(&g->of->prefixes, name) || put_part(g, NOTES, number, entry);
}

static int take_node_address(gist *g, text entry) {
    static const char INTERNAL[] = "InternalIP";
    text type, address;
    if (!pair_of(entry, &type, &address)) return 0;
    if (type.size != sizeof INTERNAL - 1 || memcmp(type.at, INTERNAL, type.size) != 0) return 1;
    if (g->slots[ADDRESS].at == NULL) g->slots[ADDRESS] = address; /* the first one counts */
    return 1;
}

static int scan(gist *g, const table *known, const uint8_t *at, const uint8_t *end);

static int take_message_part(gist *g, const field *one, uint8_t number, text content) {
    enum part which = (enum part)one->which;
    size_t head = g->part_size[which];
    if (PART_BYTES - head < HEAD_BYTES) return 0;
    g->part_size[which] += HEAD_BYTES;
    if (!scan(g, one->child, content.at, content.at + content.size)) return 0;
    put_head(g->part[which] + head, number, g->part_size[which] - head - HEAD_BYTES);
    return 1;
}

static int take_meta(gist *g, const field *one, uint8_t number, text content) {
    if (g->meta.at != NULL) return 0; /* the parser merges what comes twice */
    g->meta = content;
    g->meta_begins = g->key_size;
    if (!put_byte(g, number) || !scan(g, one->child, content.at, content.at + content.size) || !put_byte(g, 0)) return 0;
    g->meta_ends = g->key_size;
    return 1;
}

static int take(gist *g, const field *one, uint8_t number, text content) {
    switch (one->action) {
    case GROUP:
        g->has_group = 1;
        return put(g, number, content);
    case META:
        return take_meta(g, one, number, content);
    case KEEP:
        return put(g, number, content);
    case INTO:
        return put_byte(g, number) && scan(g, one->child, content.at, content.at + content.size) && put_byte(g, 0);
    case WALK:
        return scan(g, one->child, content.at, content.at + content.size);
    case SLOT:
        if (g->slots[one->which].at != NULL) return 0; /* the parser merges what comes twice */
        g->slots[one->which] = content;
        return 1;
    case PART:
        return put_part(g, (enum part)one->which, number, content);
    case PART_INTO:
        return take_message_part(g, one, number, content);
    case POD_LABEL:
    case POD_NOTE:
        return take_pod_pair(g, number, one->action == POD_NOTE, content);
    case NODE_LABEL:
        return take_node_label(g, number, content);
    case NODE_NOTE:
        return take_node_note(g, number, content);
    default:
        return take_node_address(g, content);
    }
}

static int put_number(gist *g, uint8_t number, uint64_t value) {
    if (KEY_BYTES - g->key_size < 1 + sizeof value) return 0;
    g->key[g->key_size] = number;
    memcpy(g->key + g->key_size + 1, &value, sizeof value);
    g->key_size += 1 + sizeof value;
    return 1;
}

/* One message; 0 where the parser has to decide. */
static int scan(gist *g, const table *known, const uint8_t *at, const uint8_t *end) {
    static const field UNKNOWN = {0, NOTHING, 0, NULL};
    while (at < end) {
        uint64_t tag, value;
        if (!varint(&at, end, &tag) || tag > UINT32_MAX || tag >> 3 == 0) return 0;
        const field *one = tag >> 3 < known->count ? &known->fields[tag >> 3] : &UNKNOWN;
        if (one->action != NOTHING && one->wire != (tag & 7)) return 0;
        switch (tag & 7) {
        case VARINT:
            if (!varint(&at, end, &value)) return 0;
            if (one->action != NOTHING && !put_number(g, (uint8_t)(tag >> 3), value)) return 0;
            break;
        case FIXED64:
        case FIXED32:
            value = (tag & 7) == FIXED64 ? 8 : 4;
            if (value > (uint64_t)(end - at)) return 0;
            at += value;
            break;
        case BYTES:
            if (!varint(&at, end, &value) || value > (uint64_t)(end - at)) return 0;
            if (one->action != NOTHING && !take(g, one, (uint8_t)(tag >> 3), (text){at, (size_t)value})) return 0;
            at += value;
            break;
        default:
            return 0;
        }
    }
    return 1;
}

static int gist_of(gist *g, const interest *of, const table *known, text raw) {
    g->of = of;
    g->key_size = 0;
    g->label_count = 0;
    g->meta = (text){NULL, 0};
    g->meta_begins = g->meta_ends = 0;
    g->has_group = 0;
    memset(g->part_size, 0, sizeof g->part_size);
    memset(g->slots, 0, sizeof g->slots);
    if (raw.size > UINT32_MAX || !scan(g, known, raw.at, raw.at + raw.size) || g->slots[UID].size == 0) return 0;
    for (int i = 0; i < CREATED; i++)
        if (g->slots[i].size > TEXT_BYTES || !is_plain(g->slots[i])) return 0;
    return 1;
}

int pod_gist(gist *g, const interest *of, text raw) {
    if (!gist_of(g, of, &POD, raw) || !put_byte(g, POD_FIELDS_END)) return 0;
    size_t size = g->part_size[VOLUMES];
    if (size > KEY_BYTES - g->key_size) return 0;
    memcpy(g->key + g->key_size, g->part[VOLUMES], size);
    g->key_size += size;
    return 1;
}

int node_gist(gist *g, const interest *of, text raw) { return gist_of(g, of, &NODE, raw); }

/* WatchEvent{type=1, object=2{raw=1}}, the raw is `k8s\0` and Unknown{typeMeta=1, raw=2, ...}. */
int event_of(text frame, text *type, text *object) {
    text wrapped, raw, about;
    const uint8_t *at = frame.at, *end = at + frame.size;
    if (!next_bytes(&at, end, 0x0A, 0, type) || !next_bytes(&at, end, 0x12, 1, &wrapped)) return 0;
    at = wrapped.at;
    if (!next_bytes(&at, end, 0x0A, 1, &raw) || raw.size < 4 || memcmp(raw.at, "k8s", 4) != 0) return 0;
    at = raw.at + 4;
    if (!next_bytes(&at, end, 0x0A, 0, &about) || !next_bytes(&at, end, 0x12, 0, object)) return 0;
    /* contentEncoding and contentType follow, which the server leaves empty */
    if (at != end && !(end - at == 4 && memcmp(at, "\x1a\x00\x22\x00", 4) == 0)) return 0;
    return type->size <= TEXT_BYTES && is_plain(*type);
}
