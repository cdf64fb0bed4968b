/* A stand-in for libnvidia-ml.so.1, directed by the file named in NVML_STANDIN_SCRIPT.
 *
 * The file is read anew whenever it changes, so that a card can be lost, hang and come back while a program
 * runs. Lines (GPU is the card's number in the box or *, which is not its index once `order` is given):
 *   gpus N                         cards in the box (8 without)
 *   order I I I ...                which card answers at index 0, 1, 2 ...
 *   set KEY GPU VALUE              a number, e.g. set util 0 57
 *   text KEY GPU STRING            name, serial, uuid, driver; \xHH is a byte
 *   fail FUNCTION GPU CODE         the call returns CODE
 *   hang FUNCTION GPU              the call does not return while this line stands
 *   mig GPU SLOT GI CI PROFILE MB  an instance; PROFILE - leaves it out of the name
 *   process GPU KIND PID MB GI     KIND compute, graphics or mps; MB -1 is withheld, GI -1 none
 *   busy GPU PID PERCENT STAMP     a sample of process utilisation
 *   xid GPU CODE SERIAL            one event for each SERIAL not seen before
 * Layouts are those of nvml.h as nvidia-ml-py 13 declares them. Compiled with -DOLD_DRIVER it lacks what
 * drivers before R470 lacked.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES 512
#define WIDTH 160
#define MIG_BASE 0x1000
typedef void *device;
typedef unsigned int u32;
typedef unsigned long long u64;
enum { OK, UNINITIALIZED, INVALID, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND = 6, SMALL = 7, TIMEOUT = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char lines[LINES][WIDTH];
static int count_of_lines;
static struct timespec changed;
static off_t size = -1;
static int initialised;
static int samples_lent;

static void reload(void) {
    const char *path = getenv("NVML_STANDIN_SCRIPT");
    struct stat now;
    if (!path || stat(path, &now)) { count_of_lines = 0; return; }
    if (now.st_size == size && now.st_mtim.tv_sec == changed.tv_sec && now.st_mtim.tv_nsec == changed.tv_nsec)
        return;
    FILE *file = fopen(path, "r");
    if (!file) return;
    size = now.st_size; changed = now.st_mtim; count_of_lines = 0;
    while (count_of_lines < LINES && fgets(lines[count_of_lines], WIDTH, file)) count_of_lines++;
    fclose(file);
}

static int is_for(const char *word, int gpu) { return !strcmp(word, "*") || atoi(word) == gpu; }

static int whole(const char *key, int otherwise) {
    char format[64]; int found = otherwise;
    pthread_mutex_lock(&lock); reload();
    snprintf(format, sizeof format, "%s %%d", key);
    for (int i = 0; i < count_of_lines; i++) sscanf(lines[i], format, &found);
    pthread_mutex_unlock(&lock);
    return found;
}

static double number(const char *key, int gpu, double otherwise) {
    char name[48], who[16]; double value, found = otherwise;
    pthread_mutex_lock(&lock); reload();
    for (int i = 0; i < count_of_lines; i++)
        if (sscanf(lines[i], "set %47s %15s %lf", name, who, &value) == 3 && !strcmp(name, key) && is_for(who, gpu))
            found = value;
    pthread_mutex_unlock(&lock);
    return found;
}

static void say(const char *key, int gpu, char *out, u32 room, const char *format, ...) {
    char name[48], who[16], found[WIDTH];
    va_list rest; va_start(rest, format); vsnprintf(found, sizeof found, format, rest); va_end(rest);
    pthread_mutex_lock(&lock); reload();
    for (int i = 0; i < count_of_lines; i++) {
        int at = 0;
        if (sscanf(lines[i], "text %47s %15s %n", name, who, &at) != 2 || strcmp(name, key) || !is_for(who, gpu)) continue;
        char *to = found;
        for (const char *from = lines[i] + at; *from && *from != '\n'; from++) {
            unsigned byte;
            if (sscanf(from, "\\x%2x", &byte) == 1) { *to++ = (char)byte; from += 3; } else *to++ = *from;
        }
        *to = 0;
    }
    pthread_mutex_unlock(&lock);
    strncpy(out, found, room); out[room - 1] = 0;
}

static int card_of(device handle) {
    uintptr_t value = (uintptr_t)handle;
    return value >= MIG_BASE ? (int)((value - MIG_BASE) / 64) : (int)value - 1;
}
static int slot_of(device handle) {
    uintptr_t value = (uintptr_t)handle;
    return value >= MIG_BASE ? (int)((value - MIG_BASE) % 64) : -1;
}

/* What the script wants of this call: waits while it is to hang, gives the code it is to fail with. */
static int directed(const char *function, int gpu) {
    for (;;) {
        int code = initialised || !strncmp(function, "nvmlInit", 8) ? OK : UNINITIALIZED, hangs = 0;
        char name[64], who[16]; int value;
        pthread_mutex_lock(&lock); reload();
        for (int i = 0; i < count_of_lines; i++) {
            if (sscanf(lines[i], "fail %63s %15s %d", name, who, &value) == 3 &&
                (!strcmp(name, function) || !strcmp(name, "*")) && is_for(who, gpu)) code = value;
            if (sscanf(lines[i], "hang %63s %15s", name, who) == 2 && !strcmp(name, function) && is_for(who, gpu))
                hangs = 1;
        }
        pthread_mutex_unlock(&lock);
        if (!hangs) return code;
        usleep(5000);
    }
}
#define ASK(gpu) do { int code = directed(__func__, gpu); if (code) return code; } while (0)
#define ASK_CARD(handle) ASK(card_of(handle))
#define NOT_ON_MIG(handle) do { if (slot_of(handle) >= 0) return NOT_SUPPORTED; } while (0)

static int mig_line(int gpu, int slot, int *gi, int *ci, char *profile, int *mb) {
    int g, s, found = 0;
    pthread_mutex_lock(&lock); reload();
    for (int i = 0; i < count_of_lines; i++)
        if (sscanf(lines[i], "mig %d %d %d %d %31s %d", &g, &s, gi, ci, profile, mb) == 6 && g == gpu && s == slot) {
            found = 1; break;
        }
    pthread_mutex_unlock(&lock);
    return found;
}
static int has_mig(int gpu) {
    int g, found = 0;
    pthread_mutex_lock(&lock); reload();
    for (int i = 0; i < count_of_lines; i++) if (sscanf(lines[i], "mig %d", &g) == 1 && g == gpu) found = 1;
    pthread_mutex_unlock(&lock);
    return found;
}

int nvmlInitWithFlags(u32 flags) { (void)flags; ASK(-1); initialised = 1; return OK; }
int nvmlShutdown(void) { ASK(-1); initialised = 0; return OK; }
const char *nvmlErrorString(int code) { (void)code; return "stand-in error"; }
int nvmlSystemGetDriverVersion(char *out, u32 room) { ASK(-1); say("driver", -1, out, room, "580.95.05"); return OK; }
int nvmlSystemGetNVMLVersion(char *out, u32 room) { ASK(-1); say("nvml", -1, out, room, "13.580.95.05"); return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { ASK(-1); *out = 13000; return OK; }
int nvmlSystemGetProcessName(u32 pid, char *out, u32 room) {
    ASK(-1); say("process_name", (int)pid, out, room, "/usr/bin/python%u", pid); return OK;
}
int nvmlDeviceGetCount_v2(u32 *out) {
    ASK(-1);
    char text[WIDTH] = ""; int shown = 0, at = 0, step, card;
    pthread_mutex_lock(&lock); reload();
    for (int i = 0; i < count_of_lines; i++) if (!strncmp(lines[i], "order ", 6)) strcpy(text, lines[i] + 6);
    pthread_mutex_unlock(&lock);
    while (sscanf(text + at, "%d%n", &card, &step) == 1) { at += step; shown++; }
    *out = shown ? (u32)shown : (u32)whole("gpus", 8);
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(u32 index, device *out) {
    char text[WIDTH] = ""; int at = 0, step, card = (int)index, listed, seen = 0;
    pthread_mutex_lock(&lock); reload();
    for (int i = 0; i < count_of_lines; i++) if (!strncmp(lines[i], "order ", 6)) strcpy(text, lines[i] + 6);
    pthread_mutex_unlock(&lock);
    while (sscanf(text + at, "%d%n", &listed, &step) == 1) { at += step; if (seen++ == (int)index) card = listed; }
    ASK(card);
    *out = (device)(uintptr_t)(card + 1);
    return OK;
}
int nvmlDeviceGetUUID(device handle, char *out, u32 room) {
    ASK_CARD(handle);
    int gpu = card_of(handle), slot = slot_of(handle);
    if (slot >= 0) snprintf(out, room, "MIG-%08d-0000-0000-0000-%012d", gpu, slot);
    else say("uuid", gpu, out, room, "GPU-%08d-1111-2222-3333-444444444444", gpu);
    return OK;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, device *out) {
    int gpus = whole("gpus", 8);
    for (int gpu = 0; gpu < gpus; gpu++) {
        char own[96];
        say("uuid", gpu, own, sizeof own, "GPU-%08d-1111-2222-3333-444444444444", gpu);
        if (!strcmp(own, uuid)) { ASK(gpu); *out = (device)(uintptr_t)(gpu + 1); return OK; }
    }
    return NOT_FOUND;
}
int nvmlDeviceGetName(device handle, char *out, u32 room) {
    ASK_CARD(handle);
    int gi, ci, mb; char profile[32], base[96];
    say("name", card_of(handle), base, sizeof base, "NVIDIA H100 80GB HBM3");
    if (slot_of(handle) >= 0 && mig_line(card_of(handle), slot_of(handle), &gi, &ci, profile, &mb) && strcmp(profile, "-"))
        snprintf(out, room, "%s MIG %s", base, profile);
    else snprintf(out, room, "%s", base);
    return OK;
}
int nvmlDeviceGetSerial(device h, char *out, u32 room) { ASK_CARD(h); say("serial", card_of(h), out, room, "16%08d", card_of(h)); return OK; }
int nvmlDeviceGetMinorNumber(device h, u32 *out) { ASK_CARD(h); *out = (u32)number("minor", card_of(h), card_of(h)); return OK; }
struct pci { char legacy[16]; u32 domain, bus, device, id, subsystem; char bus_id[32]; };
int nvmlDeviceGetPciInfo_v3(device h, struct pci *out) {
    ASK_CARD(h); memset(out, 0, sizeof *out);
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", 0x19 + card_of(h)); return OK;
}
struct busy { u32 gpu, memory; };
int nvmlDeviceGetUtilizationRates(device h, struct busy *out) {
    ASK_CARD(h); NOT_ON_MIG(h);
    if (has_mig(card_of(h))) return NOT_SUPPORTED;
    out->gpu = (u32)number("util", card_of(h), 7 + 10 * card_of(h)); out->memory = (u32)number("memory_util", card_of(h), 5 + card_of(h));
    return OK;
}
struct memory { u64 total, free, used; };
static void fill(device h, u64 *total, u64 *used) {
    int gi, ci, mb; char profile[32];
    *total = 81559ULL << 20; *used = (u64)number("used_mb", card_of(h), 1000 * (card_of(h) + 1)) << 20;
    if (slot_of(h) >= 0 && mig_line(card_of(h), slot_of(h), &gi, &ci, profile, &mb)) { *total = (u64)mb << 20; *used = 100ULL << 20; }
}
int nvmlDeviceGetMemoryInfo(device h, struct memory *out) {
    ASK_CARD(h); fill(h, &out->total, &out->used); out->used += 512ULL << 20; out->free = out->total - out->used; return OK;
}
int nvmlDeviceGetTemperature(device h, u32 sensor, u32 *out) { (void)sensor; ASK_CARD(h); NOT_ON_MIG(h); *out = (u32)number("temperature", card_of(h), 40 + card_of(h)); return OK; }
int nvmlDeviceGetTemperatureThreshold(device h, u32 kind, u32 *out) {
    static const u32 limits[] = {92, 89, 95, 87};
    ASK_CARD(h); if (kind > 3) return INVALID; *out = limits[kind]; return OK;
}
int nvmlDeviceGetPowerUsage(device h, u32 *out) { ASK_CARD(h); NOT_ON_MIG(h); *out = (u32)number("milliwatts", card_of(h), 100500 + 1000 * card_of(h)); return OK; }
int nvmlDeviceGetEnforcedPowerLimit(device h, u32 *out) { ASK_CARD(h); *out = (u32)number("limit_milliwatts", card_of(h), 700000); return OK; }
int nvmlDeviceGetTotalEnergyConsumption(device h, u64 *out) { ASK_CARD(h); *out = (u64)number("millijoules", card_of(h), 5000000000.0); return OK; }
int nvmlDeviceGetClockInfo(device h, u32 domain, u32 *out) { static const u32 mhz[] = {1410, 1410, 2619, 1275}; ASK_CARD(h); NOT_ON_MIG(h); *out = (u32)number("clock", card_of(h), mhz[domain & 3]); return OK; }
int nvmlDeviceGetMaxClockInfo(device h, u32 domain, u32 *out) { static const u32 mhz[] = {1980, 1980, 2619, 1545}; ASK_CARD(h); *out = mhz[domain & 3]; return OK; }
int nvmlDeviceGetCurrentClocksThrottleReasons(device h, u64 *out) { ASK_CARD(h); *out = (u64)number("throttle", card_of(h), 0); return OK; }
struct violation { u64 reference, time; };
int nvmlDeviceGetViolationStatus(device h, u32 policy, struct violation *out) {
    ASK_CARD(h); if (policy > 1) return NOT_SUPPORTED; out->reference = 1; out->time = (u64)number("violation_ns", card_of(h), 2500000000.0); return OK;
}
int nvmlDeviceGetPcieThroughput(device h, u32 counter, u32 *out) { ASK_CARD(h); *out = (u32)number("pcie_kb", card_of(h), 1000) + counter; return OK; }
int nvmlDeviceGetCurrPcieLinkGeneration(device h, u32 *out) { ASK_CARD(h); *out = (u32)number("pcie_generation", card_of(h), 5); return OK; }
int nvmlDeviceGetCurrPcieLinkWidth(device h, u32 *out) { ASK_CARD(h); *out = (u32)number("pcie_width", card_of(h), 16); return OK; }
int nvmlDeviceGetPcieReplayCounter(device h, u32 *out) { ASK_CARD(h); *out = (u32)number("replays", card_of(h), 0); return OK; }
int nvmlDeviceGetNvLinkState(device h, u32 link, u32 *out) {
    ASK_CARD(h); if (link >= (u32)number("nvlinks", card_of(h), 2)) return INVALID;
    *out = (int)link != (int)number("nvlink_down", card_of(h), -1); return OK;
}
int nvmlDeviceGetNvLinkErrorCounter(device h, u32 link, u32 counter, u64 *out) {
    ASK_CARD(h); if (link >= (u32)number("nvlinks", card_of(h), 2)) return INVALID;
    *out = (u64)number("nvlink_errors", card_of(h), 0) * (counter + 1); return OK;
}
int nvmlDeviceGetEccMode(device h, u32 *now, u32 *pending) { ASK_CARD(h); *now = *pending = (u32)number("ecc", card_of(h), 1); return OK; }
int nvmlDeviceGetTotalEccErrors(device h, u32 kind, u32 counter, u64 *out) { (void)counter; ASK_CARD(h); *out = (u64)number(kind ? "ecc_double" : "ecc_single", card_of(h), 0); return OK; }
int nvmlDeviceGetEncoderUtilization(device h, u32 *out, u32 *period) { ASK_CARD(h); *out = (u32)number("encoder", card_of(h), 0); *period = 167000; return OK; }
int nvmlDeviceGetDecoderUtilization(device h, u32 *out, u32 *period) { ASK_CARD(h); *out = (u32)number("decoder", card_of(h), 0); *period = 167000; return OK; }
int nvmlDeviceGetRetiredPages(device h, u32 cause, u32 *count, u64 *pages) {
    ASK_CARD(h); u32 have = (u32)number(cause ? "retired_double" : "retired_single", card_of(h), -1);
    if (have == (u32)-1) return NOT_SUPPORTED;
    if (*count < have) { *count = have; return SMALL; }
    *count = have; if (pages) for (u32 i = 0; i < have; i++) pages[i] = i; return OK;
}
int nvmlDeviceGetRetiredPagesPendingStatus(device h, u32 *out) { ASK_CARD(h); *out = (u32)number("retired_pending", card_of(h), 0); return OK; }

struct process { u32 pid; u64 used; u32 gi, ci; };
static int processes(device h, const char *kind, u32 *room, struct process *out) {
    int g, pid, mb, gi; u32 have = 0; char word[16];
    pthread_mutex_lock(&lock); reload();
    for (int i = 0; i < count_of_lines; i++)
        if (sscanf(lines[i], "process %d %15s %d %d %d", &g, word, &pid, &mb, &gi) == 5 && g == card_of(h) && !strcmp(word, kind)) {
            if (out && have < *room) {
                out[have].pid = (u32)pid; out[have].used = mb < 0 ? ~0ULL : (u64)mb << 20;
                out[have].gi = gi < 0 ? 0xFFFFFFFF : (u32)gi; out[have].ci = out[have].gi;
            }
            have++;
        }
    pthread_mutex_unlock(&lock);
    if (have > *room || (have && !out)) { *room = have; return SMALL; }
    *room = have; return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v2(device h, u32 *room, struct process *out) { ASK_CARD(h); return processes(h, "compute", room, out); }
int nvmlDeviceGetGraphicsRunningProcesses_v2(device h, u32 *room, struct process *out) { ASK_CARD(h); return processes(h, "graphics", room, out); }
struct sample { u32 pid; u64 stamp; u32 sm, memory, encoder, decoder; };
int nvmlDeviceGetProcessUtilization(device h, struct sample *out, u32 *room, u64 since) {
    ASK_CARD(h);
    int g, pid, percent; u64 stamp; u32 have = 0;
    pthread_mutex_lock(&lock); reload();
    for (int i = 0; i < count_of_lines; i++)
        if (sscanf(lines[i], "busy %d %d %d %llu", &g, &pid, &percent, &stamp) == 4 && g == card_of(h) && stamp > since) {
            if (out && have < *room) out[have] = (struct sample){(u32)pid, stamp, (u32)percent, 0, 0, 0};
            have++;
        }
    pthread_mutex_unlock(&lock);
    if (!have) return NOT_FOUND;
    if (!out || have > *room) { *room = have; return SMALL; }
    *room = have; return OK;
}

int nvmlEventSetCreate(device *out) { ASK(-1); *out = malloc(256 * sizeof(int)); memset(*out, 0, 256 * sizeof(int)); return OK; }
int nvmlEventSetFree(device set) { ASK(-1); free(set); return OK; }
int nvmlDeviceRegisterEvents(device h, u64 types, device set) { (void)types; (void)set; ASK_CARD(h); return OK; }
struct event { device handle; u64 type, data; u32 gi, ci; };
static int serials_seen[256];
int nvmlEventSetWait_v2(device set, struct event *out, u32 milliseconds) {
    (void)set; ASK(-1);
    for (u32 waited = 0;; waited += 5) {
        int g, code, serial, found = 0;
        pthread_mutex_lock(&lock); reload();
        for (int i = 0; i < count_of_lines && !found; i++)
            if (sscanf(lines[i], "xid %d %d %d", &g, &code, &serial) == 3 && serial >= 0 && serial < 256 && !serials_seen[serial])
                { serials_seen[serial] = 1; found = 1; }
        pthread_mutex_unlock(&lock);
        if (found) { *out = (struct event){(device)(uintptr_t)(g + 1), 8, (u64)code, ~0u, ~0u}; return OK; }
        if (waited >= milliseconds) return TIMEOUT;
        usleep(5000);
    }
}

#ifndef OLD_DRIVER
struct memory_v2 { u32 version; u64 total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(device h, struct memory_v2 *out) {
    ASK_CARD(h); if (out->version != 0x02000028) return 25;
    fill(h, &out->total, &out->used); out->reserved = 512ULL << 20; out->free = out->total - out->used - out->reserved; return OK;
}
struct temperature { u32 version, sensor; int value; };
int nvmlDeviceGetTemperatureV(device h, struct temperature *out) { ASK_CARD(h); NOT_ON_MIG(h); out->value = (int)number("temperature", card_of(h), 40 + card_of(h)); return OK; }
struct margin { u32 version; int value; };
int nvmlDeviceGetMarginTemperature(device h, struct margin *out) { ASK_CARD(h); out->value = (int)number("margin", card_of(h), 49 - card_of(h)); return OK; }
int nvmlDeviceGetCurrentClocksEventReasons(device h, u64 *out) { ASK_CARD(h); *out = (u64)number("throttle", card_of(h), 0); return OK; }
int nvmlDeviceGetComputeRunningProcesses_v3(device h, u32 *room, struct process *out) { ASK_CARD(h); return processes(h, "compute", room, out); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(device h, u32 *room, struct process *out) { ASK_CARD(h); return processes(h, "graphics", room, out); }
int nvmlDeviceGetMPSComputeRunningProcesses_v3(device h, u32 *room, struct process *out) { ASK_CARD(h); return processes(h, "mps", room, out); }
int nvmlDeviceGetRemappedRows(device h, u32 *corrected, u32 *uncorrected, u32 *pending, u32 *failed) {
    ASK_CARD(h);
    *corrected = (u32)number("remap_corrected", card_of(h), 0); *uncorrected = (u32)number("remap_uncorrected", card_of(h), 0);
    *pending = (u32)number("remap_pending", card_of(h), 0); *failed = (u32)number("remap_failed", card_of(h), 0); return OK;
}
struct field { u32 id, scope; long long stamp, latency; u32 type; int code; union { double d; u32 u; u64 ull; long long sll; } value; };
int nvmlDeviceGetFieldValues(device h, int count, struct field *fields) {
    ASK_CARD(h);
    for (int i = 0; i < count; i++) {
        char key[32]; snprintf(key, sizeof key, "field_%u", fields[i].id);
        double value = number(key, card_of(h), fields[i].id == 82 ? 50 + card_of(h) : fields[i].id == 230 ? 0 : fields[i].id * 1000.0);
        fields[i].code = value < 0 ? NOT_SUPPORTED : OK;
        if (fields[i].id == 138 || fields[i].id == 139) { fields[i].type = 3; fields[i].value.ull = (u64)value; }
        else { fields[i].type = 1; fields[i].value.u = (u32)value; }
    }
    return OK;
}

int nvmlDeviceGetMigMode(device h, u32 *now, u32 *pending) { ASK_CARD(h); *now = *pending = has_mig(card_of(h)); return OK; }
int nvmlDeviceGetMaxMigDeviceCount(device h, u32 *out) { ASK_CARD(h); *out = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(device h, u32 slot, device *out) {
    int gi, ci, mb; char profile[32];
    ASK_CARD(h); if (!mig_line(card_of(h), (int)slot, &gi, &ci, profile, &mb)) return NOT_FOUND;
    *out = (device)(uintptr_t)(MIG_BASE + card_of(h) * 64 + slot); return OK;
}
int nvmlDeviceGetGpuInstanceId(device h, u32 *out) { int gi, ci, mb; char p[32]; ASK_CARD(h); if (!mig_line(card_of(h), slot_of(h), &gi, &ci, p, &mb)) return NOT_FOUND; *out = (u32)gi; return OK; }
int nvmlDeviceGetComputeInstanceId(device h, u32 *out) { int gi, ci, mb; char p[32]; ASK_CARD(h); if (!mig_line(card_of(h), slot_of(h), &gi, &ci, p, &mb)) return NOT_FOUND; *out = (u32)ci; return OK; }
struct attributes { u32 processors, copy, decoder, encoder, jpeg, ofa, slices, compute_slices; u64 megabytes; };
int nvmlDeviceGetAttributes_v2(device h, struct attributes *out) {
    int gi, ci, mb; char p[32]; ASK_CARD(h); memset(out, 0, sizeof *out);
    if (!mig_line(card_of(h), slot_of(h), &gi, &ci, p, &mb)) return NOT_SUPPORTED;
    out->slices = (u32)number("slices", card_of(h), 1); out->compute_slices = (u32)number("compute_slices", card_of(h), 1); out->megabytes = (u64)mb; return OK;
}

struct gpm_support { u32 version, is_supported; };
int nvmlGpmQueryDeviceSupport(device h, struct gpm_support *out) { ASK_CARD(h); out->is_supported = (u32)number("gpm", card_of(h), 1); return OK; }
struct gpm_sample { int gpu, gi, number; };
int nvmlGpmSampleAlloc(struct gpm_sample **out) { ASK(-1); *out = calloc(1, sizeof **out); __atomic_add_fetch(&samples_lent, 1, __ATOMIC_SEQ_CST); return OK; }
int nvmlGpmSampleFree(struct gpm_sample *sample) { ASK(-1); free(sample); __atomic_sub_fetch(&samples_lent, 1, __ATOMIC_SEQ_CST); return OK; }
static int samples_taken;
int nvmlGpmSampleGet(device h, struct gpm_sample *out) { ASK_CARD(h); *out = (struct gpm_sample){card_of(h), -1, __atomic_add_fetch(&samples_taken, 1, __ATOMIC_SEQ_CST)}; return OK; }
int nvmlGpmMigSampleGet(device h, u32 gi, struct gpm_sample *out) { ASK_CARD(h); *out = (struct gpm_sample){card_of(h), (int)gi, __atomic_add_fetch(&samples_taken, 1, __ATOMIC_SEQ_CST)}; return OK; }
struct gpm_metric { u32 id; int code; double value; const char *names[3]; };
struct gpm_get { u32 version, count; struct gpm_sample *older, *newer; struct gpm_metric metrics[]; };
int nvmlGpmMetricsGet(struct gpm_get *asked) {
    ASK(-1);
    if (asked->older->number >= asked->newer->number) return INVALID;
    for (u32 i = 0; i < asked->count; i++) {
        struct gpm_metric *one = &asked->metrics[i]; char key[32];
        snprintf(key, sizeof key, "gpm_%u", one->id);
        one->code = OK; one->value = number(key, asked->newer->gpu, one->id + asked->newer->gpu + (asked->newer->gi > 0 ? asked->newer->gi : 0) / 10.0);
        if (one->value < 0) one->code = NOT_SUPPORTED;
    }
    return OK;
}
int standin_samples_lent(void) { return samples_lent; }
#endif
