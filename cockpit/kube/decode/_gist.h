/* The gist of an object on the wire: what its record is made of, without parsing it into objects.
 *
 * Nothing here is a judgement about an object: whatever is not plainly well-formed, is too long or comes twice
 * is left to the parser. No function reads outside of the bytes it is given, whatever they are.
 */
#ifndef COCKPIT_GIST_H
#define COCKPIT_GIST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KEY_BYTES 16384
#define PART_BYTES 6144
#define TEXT_BYTES 253
#define NAMES 64
#define LABELS 256

/* Bytes of somebody else's. */
typedef struct {
    const uint8_t *at;
    size_t size;
} text;

/* Names of labels or annotations; `lengths` has a bit for each length that one of them has. */
typedef struct {
    text one[NAMES];
    int count;
    uint64_t lengths;
} names;

/* What differs between objects that are otherwise alike. PLACE: node of a pod, provider id of a node. */
enum slot { NAME, UID, VERSION, PLACE, ADDRESS, CREATED, STARTED, SLOTS };

/* What differs between groups of objects: fields of the object once more, as protobuf, to be looked up.
 * MEMBER: a pod's labels and annotations that tell its group and rank; VOLUMES: those of its spec, with what names claims and
 * ConfigMaps. The others are of nodes: conditions without the time of the last heartbeat, capacity and allocatable,
 * annotations that are kept. */
enum part { MEMBER = 0, CONDITIONS = 0, VOLUMES = 1, AMOUNTS = 1, NOTES, PARTS };

/* Which labels and annotations count. A pod: `aside` names labels that go into MEMBER, `noted_aside` annotations
 * that do, `noted` those that go into the key. A node: `aside` names labels that go into the key, `noted` the
 * annotations that do, `noted_aside` those whose name alone does; `prefixes` are of annotations that are kept. */
typedef struct {
    names aside, noted_aside, noted, prefixes;
} interest;

typedef struct {
    const interest *of;
    uint8_t key[KEY_BYTES];
    size_t key_size;
    uint8_t part[PARTS][PART_BYTES];
    size_t part_size[PARTS];
    text slots[SLOTS];
    text meta; /* of a pod; its share of the key begins and ends there */
    size_t meta_begins, meta_ends;
    int has_group; /* a pod whose spec names its pod group */
    text labels[LABELS]; /* of a node: whole entries, ascending by name */
    int label_count;
    text last_label;
} gist;

/* A varint of at most 10 bytes; 0 where there is none. */
static inline int varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    const uint8_t *p = *at;
    if (p < end && *p < 0x80) { /* nearly all of them */
        *value = *p;
        *at = p + 1;
        return 1;
    }
    uint64_t sum = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (p >= end) return 0;
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1) return 0;
        sum |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *value = sum;
            *at = p;
            return 1;
        }
    }
    return 0;
}

/* Printable ASCII only: what the record shows is then what stands there. */
int is_plain(text one);

/* Names that each end with a line feed; 0 where they are too many or too long. `given` has to stay. */
int names_of(text given, names *made);

/* 1 where the gist was found: then every slot up to ADDRESS is plain, and there is a uid. The key of a pod ends with
 * its VOLUMES. */
int pod_gist(gist *g, const interest *of, text raw);
int node_gist(gist *g, const interest *of, text raw);

/* Type and raw object of a watch event as apimachinery writes it; 0 where it looks otherwise. */
int event_of(text frame, text *type, text *object);

#endif
