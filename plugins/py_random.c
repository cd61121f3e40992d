/* SPDX-License-Identifier: Apache-2.0
 * py_random.c: NumPy's legacy generator, seeded without NumPy.
 *
 * A fork copies its state, so each worker seeds it anew; numpy.random.seed does that too, but touches 200 pages of a fresh fork,
 * half a millisecond. The state is found through the generator's public capsule and is used only when our seeding gave the very
 * state that NumPy's own gave in the zygote. */
#include "plugins/py_role.h"

enum { N = 624 };
struct state { uint32_t key[N]; int pos; };             /* of NumPy's MT19937 */
static struct state *legacy;

/* Matsumoto and Nishimura, init_by_array. */
static void fill(struct state *s, const uint32_t *seed, uint32_t n) {
    uint32_t *mt = s->key, i = 1, j = 0;
    mt[0] = 19650218u;
    for (uint32_t k = 1; k < N; k++)
        mt[k] = 1812433253u * (mt[k - 1] ^ (mt[k - 1] >> 30)) + k;
    for (uint32_t k = N; k; k--) {
        mt[i] = (mt[i] ^ ((mt[i - 1] ^ (mt[i - 1] >> 30)) * 1664525u)) + seed[j] + j;
        j = j + 1 == n ? 0 : j + 1;
        if (++i == N) {
            mt[0] = mt[N - 1];
            i = 1;
        }
    }
    for (uint32_t k = N - 1; k; k--) {
        mt[i] = (mt[i] ^ ((mt[i - 1] ^ (mt[i - 1] >> 30)) * 1566083941u)) - i;
        if (++i == N) {
            mt[0] = mt[N - 1];
            i = 1;
        }
    }
    mt[0] = 0x80000000u;
    s->pos = N;
}

static void fill64(struct state *s, uint64_t seed) {
    uint32_t words[] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    fill(s, words, 2);
}

static PyObject *step(PyObject *from, const char *name) {
    PyObject *r = from ? PyObject_GetAttrString(from, name) : NULL;
    Py_XDECREF(from);
    return r;
}

void rdn_py_random_find(void) {
    PyObject *np = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
    PyObject *g = step(step(step(step(Py_XNewRef(np), "random"), "mtrand"), "_rand"), "_bit_generator");
    bool twister = g && !strcmp(Py_TYPE(g)->tp_name, "numpy.random._mt19937.MT19937");
    PyObject *capsule = twister ? PyObject_GetAttrString(g, "capsule") : NULL;
    void **bitgen = capsule ? PyCapsule_GetPointer(capsule, "BitGenerator") : NULL;       /* its first member is the state */
    static const uint64_t trial = 0x123456789abcdef1u;
    PyObject *r = bitgen ? PyObject_CallMethod(rdn_py.helper, "reseed", "KO", (unsigned long long)trial, Py_False) : NULL;
    struct state ours;
    fill64(&ours, trial);
    if (r && !memcmp(&ours, *bitgen, sizeof ours))
        legacy = *bitgen;
    Py_XDECREF(r);
    Py_XDECREF(capsule);
    Py_XDECREF(g);
    PyErr_Clear();                                      /* another NumPy: its own way of seeding works too */
}

bool rdn_py_random_seed(uint64_t seed) {
    if (legacy)
        fill64(legacy, seed);
    return legacy;
}
