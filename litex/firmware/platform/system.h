/* SPDX-License-Identifier: Apache-2.0 */
/* LiteX's generated csr.h includes a header of this name, for functions about caches; none is used here. */
