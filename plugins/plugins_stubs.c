/* SPDX-License-Identifier: Apache-2.0
 * plugins_stubs.c: the same symbols in a build without plugins (no libseccomp or no Python headers): naming a plugin is R4001. */
#include "plugins/pack.h"
#include "plugins/worker.h"

int rdn_plugins_open(const struct rdn_plugins_options *o, struct rdn_plugins **ret, redan_error *reterr) {
    (void)o, (void)ret;
    return rdn_fail(reterr, NOSUP, "R4001", "built without plugins");
}
void rdn_plugins_close(struct rdn_plugins *p) { (void)p; }
int rdn_plugin_open(struct rdn_plugins *p, const struct rdn_plugin_spec *s, struct rdn_plugin **ret, redan_error *reterr) {
    (void)p, (void)s, (void)ret;
    return rdn_fail(reterr, NOSUP, "R4001", "built without plugins");
}
void rdn_plugin_close(struct rdn_plugin *p) { (void)p; }
int rdn_plugin_reload(struct rdn_plugin *p, const char *file, bool *ret_same, redan_error *reterr) {
    (void)p, (void)file, (void)ret_same;
    return rdn_fail(reterr, NOSUP, "R4001", "built without plugins");
}
enum rdn_outcome rdn_plugin_call_fn(struct rdn_plugin *p, uint32_t fn, uint32_t lane, const struct rdn_wire_value *args, uint32_t nargs, uint32_t nrows,
                                    int64_t now_ns, int64_t deadline_ns, struct rdn_wire_value *ret, uint8_t *outs) {
    (void)p, (void)fn, (void)lane, (void)args, (void)nargs, (void)nrows, (void)now_ns, (void)deadline_ns, (void)ret, (void)outs;
    return RDN_OUT_NOT_READY;
}
bool rdn_pack_is(const char *path) { (void)path; return false; }
enum rdn_outcome rdn_plugin_call(struct rdn_plugin *p, uint32_t lane, const struct rdn_wire_value *args, uint32_t nargs, int64_t now_ns,
                                 int64_t deadline_ns, struct rdn_wire_value *ret) {
    (void)p, (void)lane, (void)args, (void)nargs, (void)now_ns, (void)deadline_ns, (void)ret;
    return RDN_OUT_NOT_READY;
}
