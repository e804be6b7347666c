/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_PARAMS_H
#define HWSWAP_PARAMS_H

#include <linux/moduleparam.h>

/**
 * struct hwswap_bounds - a parameter that is a number between two others
 * @value: where it is kept
 * @min: the smallest
 * @max: the largest
 */
struct hwswap_bounds {
	unsigned int *value;
	unsigned int min;
	unsigned int max;
};

extern const struct kernel_param_ops hwswap_bounds_ops;

/* A module parameter @name, kept in a variable of that name, from @low to @high. */
#define hwswap_param_bounded(name, variable, low, high, perm)		\
	static struct hwswap_bounds hwswap_bounds_##name = {		\
		.value = &(variable), .min = (low), .max = (high),	\
	};								\
	module_param_cb(name, &hwswap_bounds_ops, &hwswap_bounds_##name, perm)

#endif /* HWSWAP_PARAMS_H */
