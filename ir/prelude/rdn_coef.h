/* SPDX-License-Identifier: Apache-2.0
 * rdn_coef.h: coefficients of Redan's own functions, lowest power first (LANGUAGE.md appendix B). The last digit counts:
 * every device must use exactly these doubles. E2 is (-ln 2)^k / k!, nearest doubles, for the half-life of 10.6. */
#ifndef RDN_COEF_H
#define RDN_COEF_H

/* exp(r) = 1 + r + r*r*PE(r) */
RDN_TABLE double rdn_pe[11] = {
    0x1.0000000000000p-1, 0x1.5555555555557p-3, 0x1.555555555554ep-5, 0x1.11111111100ebp-7,
    0x1.6c16c16c1a0a2p-10, 0x1.a01a01abe0c9dp-13, 0x1.a01a019052f84p-16, 0x1.71de024594c37p-19,
    0x1.27e510fb43091p-22, 0x1.af4dc47df0834p-26, 0x1.1f19c3a015915p-29,
};
/* log(m) = 2s + s*z*PL(z) */
RDN_TABLE double rdn_pl[7] = {
    0x1.5555555555558p-1, 0x1.9999999995278p-2, 0x1.2492492dfc333p-2, 0x1.c71c62d860be1p-3,
    0x1.7462b838a541cp-3, 0x1.39fdef43df552p-3, 0x1.2b5d8de9c414ap-3,
};
/* invnorm, centre: q*PC/QC */
RDN_TABLE double rdn_pc[8] = {
    0x1.b18d91e9eef75p+1, 0x1.0a4638f115d63p+7, 0x1.ecdc67d512c80p+10, 0x1.ad0ff6a1400f4p+13,
    0x1.66b31fe3e43edp+15, 0x1.06b0bdbd8078dp+16, 0x1.0516b5aa9aa59p+15, 0x1.398013aa3351cp+11,
};
RDN_TABLE double rdn_qc[8] = {
    0x1.0000000000000p+0, 0x1.527ef8b4045f5p+5, 0x1.5791dd64f23d0p+9, 0x1.51194d9c461c9p+12,
    0x1.4b68f455a92a8p+14, 0x1.33059b8a91870p+15, 0x1.c0c1389fd8ec5p+14, 0x1.46874d50a4c72p+12,
};
/* invnorm, tail: PT/QT */
RDN_TABLE double rdn_pt[9] = {
    0x1.6c665fde9526ap+0, 0x1.27940bed71e7ep+2, 0x1.706b35b7baddep+2, 0x1.d6f696fbd56d4p+1,
    0x1.545ee1f46d92dp+0, 0x1.1c46d13352d1ep-2, 0x1.0782a8ea88a7ep-5, 0x1.da7da2aa57265p-10,
    0x1.2378dfeb50cfep-15,
};
RDN_TABLE double rdn_qt[8] = {
    0x1.0000000000000p+0, 0x1.05bc6c9ee1d50p+1, 0x1.ad65f5328c13fp+0, 0x1.6b8dda6bfb7bcp-1,
    0x1.53559f32dfdfap-3, 0x1.55570d76d048ep-6, 0x1.453f8e5a5d01ap-10, 0x1.9c312c8e5a0fdp-16,
};
/* invnorm, far tail: PU/QU */
RDN_TABLE double rdn_pu[8] = {
    0x1.03dbe98f0710cp+3, 0x1.6c05bac48fadcp+2, 0x1.999792a3e887bp+0, 0x1.d991b1ba05971p-3,
    0x1.2a4ae0916f659p-6, 0x1.8eed5292bb857p-11, 0x1.f9340032a168ep-17, 0x1.ba9d329cb217bp-24,
};
RDN_TABLE double rdn_qu[8] = {
    0x1.0000000000000p+0, 0x1.0accb26d2a75dp-1, 0x1.ab0c34a58d896p-4, 0x1.48f38ec2ad259p-7,
    0x1.f433f9ff2956bp-12, 0x1.56914a2981c4ap-17, 0x1.38f939f992089p-24, 0x1.07f107cf07b28p-50,
};
/* normcdf(-z) = exp(-z*z/2) * PN(t) / (z + 1) */
RDN_TABLE double rdn_pn[23] = {
    0x1.e361ea6fba141p-2, -0x1.8c18f2086e33dp-4, 0x1.cabd72a610740p-7, 0x1.d4969f10de8e3p-6,
    -0x1.07c3c25838341p-5, 0x1.25dd72062dd27p-6, -0x1.47d5fc6c3b67ep-8, -0x1.2b7f5e9bcaa87p-12,
    0x1.6c53803ab2d16p-11, -0x1.8c11a0041f10ep-14, -0x1.707b22097ff0fp-14, 0x1.6482d30d0d9f6p-16,
    0x1.c92d568df7c8cp-17, -0x1.cc8f99dc6de74p-19, -0x1.5e02665532e72p-19, 0x1.b1961b955523ep-22,
    0x1.239b16a14686fp-21, 0x1.aa30d2589a2f1p-31, -0x1.b3dcdecdd485ap-24, -0x1.2d14da6e9dbfbp-26,
    0x1.961b58627f5bap-27, 0x1.0fee012f6f44bp-28, 0x1.06a65a3528e74p-37,
};
/* 2^-f = E2(f), 0 <= f < 1; without fma */
RDN_TABLE double rdn_e2[18] = {
    0x1.0000000000000p+0, -0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, -0x1.c6b08d704a0c0p-5,
    0x1.3b2ab6fba4e77p-7, -0x1.5d87fe78a6731p-10, 0x1.430912f86c787p-13, -0x1.ffcbfc588b0c7p-17,
    0x1.62c0223a5c824p-20, -0x1.b5253d395e7c4p-24, 0x1.e4cf5158b8ecap-28, -0x1.e8cac7351bb25p-32,
    0x1.c3bd650fc2986p-36, -0x1.816193166d0f9p-40, 0x1.314964d5878a9p-44, -0x1.c36e843b04022p-49,
    0x1.38e89ae79f8b4p-53, -0x1.98444b41c25a8p-58,
};
#endif
